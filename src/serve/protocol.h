// SPDX-License-Identifier: MIT
//
// The socket protocol: tracefs calls over a unix SOCK_SEQPACKET socket, one message a call.
//
//   tool                                agent
//    | Request{kOpen, flags} path  --->  |     path as below the tracefs root:
//    "events/functions/enable" | <---  Reply{errno, handle}        |     (kOpen of "buffer" also
//    passes its descriptor, SCM_RIGHTS) | Request{kWrite, handle} bytes --> | | <---  Reply{errno,
//    value} text    |     value: bytes taken; text: the sentence for a user, if any |
//    Request{kRead, handle, size} -->  | | <---  Reply{errno, value} bytes   | | Request{kClose,
//    handle}       --> | | <---  Reply{errno}                |
//
// A request is at most kMaxMessage bytes with its data; longer writes are split by the client only
// at whole lines. Lengths come from the datagram, never from inside it.
#pragma once

#include <cstdint>

namespace patchbay::serve {

inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr uint32_t kMaxMessage = 64 * 1024;

enum class Call : uint32_t {
  kHello = 1,  // value = protocol version; the reply's text is "PID\0EXE\0"
  kOpen = 2,   // flags = O_RDONLY/O_WRONLY/O_RDWR | O_TRUNC | O_APPEND; data = path
  kRead = 3,   // value = bytes wanted; text files are snapshots made at the first read after open
  kWrite = 4,  // data = bytes; one write is one command
  kClose = 5,
  kList = 6,    // data = path of a directory; the reply's text: "name\n" or "name/\n" each
  kResume = 7,  // let a program that waits in the constructor (PATCHBAY_WAIT=1) run
};

struct Request {
  uint32_t call;
  uint32_t handle;
  uint32_t flags;
  uint32_t reserved;
  uint64_t value;
};
struct Reply {
  int32_t error;  // 0 or a positive errno
  uint32_t handle;
  uint64_t value;
};

}  // namespace patchbay::serve
