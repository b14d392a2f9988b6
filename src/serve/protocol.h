// SPDX-License-Identifier: MIT
//
// The socket protocol: tracefs calls over a unix SOCK_SEQPACKET socket, one message a call.
//
//   tool                                     agent
//    | Request{kOpen, flags} path       --->  |   path as below the tracefs root
//    | <---            Reply{errno, handle}   |   (kOpen of "buffer" also passes its descriptor)
//    | Request{kWrite, handle} bytes    --->  |
//    | <---       Reply{errno, value} text    |   value: bytes taken; text: the sentence, if any
//    | Request{kRead, handle, size}     --->  |
//    | <---       Reply{errno, value} bytes   |   EAGAIN: nothing yet; the tool asks again
//    | Request{kClose, handle}          --->  |
//    | <---                   Reply{errno}    |   what close(2) would say
//    | Request{kWriteFile} path NUL bytes ->  |   the three of a small command in one
//    | <---            Reply{errno, value}    |
//
// The agent never waits on behalf of a client. A request is at most kMaxMessage bytes with its
// data; longer writes are split by the client only at whole lines. Lengths come from the datagram,
// never from inside it.
#pragma once

#include <cstdint>

namespace patchbay::serve {

inline constexpr uint32_t kProtocolVersion = 2;
inline constexpr uint32_t kMaxMessage = 132 * 1024;  // one FUSE write, with room for the header

enum class Call : uint32_t {
  // value = protocol version; the reply's text is "PID\0EXE\0TID\0", and "attached\0" or
  // "preloaded\0": how the agent came
  kHello = 1,
  kOpen = 2,   // flags = O_RDONLY/O_WRONLY/O_RDWR | O_TRUNC | O_APPEND; data = path
  kRead = 3,   // value = bytes wanted; flags = ReadMode
  kWrite = 4,  // data = bytes; one write is one command
  kClose = 5,
  kList = 6,    // data = path of a directory; the reply's text: "name\n" or "name/\n" each
  kResume = 7,  // let a program that waits in the constructor (PATCHBAY_WAIT) run
  kStat = 8,    // data = path; reply: value = mode with S_IFREG or S_IFDIR; its 8 bytes: size
  kMkdir = 9,   // data = path
  kRmdir = 10,  // data = path
  kFlush = 11,  // close(2) of one descriptor of the handle
  kPoll = 12,   // value = 1: poll(2) asks, 0: somebody waits for it; reply: kPoll…
  kIoctl = 13,  // value = command
  // flags as kOpen; data = path, NUL, bytes: open, write (again from where a short write ended),
  // close. The reply's value: bytes taken.
  kWriteFile = 14,
  // An agent that was attached leaves the program. Everything is switched off when the reply comes;
  // what follows over the connection is abi/attach_abi.h's, from kHooks on. EBUSY: another client.
  kDetach = 15,
};

// 1: a read would give something or the end. 2: the file has changed since poll(2) was told so.
inline constexpr uint64_t kPollReadable = 1, kPollChanged = 2;

struct Request {
  uint32_t call;
  uint32_t handle;
  uint32_t flags;
  uint32_t caller;  // thread id on whose behalf the tool calls; 0: the tool itself
  uint64_t value;
};
struct Reply {
  int32_t error;  // 0 or a positive errno
  uint32_t handle;
  uint64_t value;
};

}  // namespace patchbay::serve
