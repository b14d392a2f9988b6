// SPDX-License-Identifier: MIT
// attach/asm_offsets.h: what loader_code.S knows of its block.
#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "attach/loader_block.h"
#include "hot/asm_offset.h"

namespace patchbay::attach {

#define BLOCK(name, member) ASM_OFFSET(BLOCK_##name, LoaderBlock, member)

[[gnu::used]] static void asm_offsets() {
  BLOCK(PTHREAD_CREATE, pthread_create);
  BLOCK(PTHREAD_DETACH, pthread_detach);
  BLOCK(DLOPEN, dlopen);
  BLOCK(DLSYM, dlsym);
  BLOCK(DLERROR, dlerror);
  BLOCK(DLCLOSE, dlclose);
  BLOCK(SYSCALL_RETURN, syscall_return);
  BLOCK(CODE, code);
  BLOCK(CODE_SIZE, code_size);
  BLOCK(DATA_SIZE, data_size);
  BLOCK(FRAME, frame);
  BLOCK(ENTRY, entry);
  BLOCK(THREAD, thread);
  BLOCK(STAGE, stage);
  BLOCK(ERROR, error);
  BLOCK(SOCKETS, sockets);
  BLOCK(TAKEN, taken);
  BLOCK(FILES, files);
  BLOCK(UNSHARED, unshared);
  BLOCK(SOCKET, socket);
  BLOCK(HIGH_FD, high_fd);
  BLOCK(IS_SHARED, is_shared);
  BLOCK(ABANDONED, abandoned);
  BLOCK(LEFT, left);
  BLOCK(STATE, state);
  BLOCK(RESULT, result);
  BLOCK(VERSION, version);
  BLOCK(SEEN, seen);
  BLOCK(CANCEL, cancel);
  BLOCK(LOADER, loader);
  BLOCK(LIBRARY_FD, library_fd);
  BLOCK(FROM_DIRECTORY, from_directory);
  BLOCK(LOADER_NAME, loader_name);
  BLOCK(NAME, name);
  BLOCK(TEXT, text);
  BLOCK(OTHER_PATH, other_path);
  BLOCK(PATH, path);
  ASM_CONSTANT(TEXT_SIZE, sizeof(LoaderBlock::text));
  ASM_CONSTANT(STAGE_SOCKETS, Stage::kSockets);
  ASM_CONSTANT(STAGE_FINISHED, Stage::kFinished);
  ASM_CONSTANT(STATE_RECEIVED, LoaderState::kReceived);
  ASM_CONSTANT(STATE_LOADING, LoaderState::kLoading);
  ASM_CONSTANT(STATE_CALLING, LoaderState::kCalling);
  ASM_CONSTANT(STATE_CALLED, LoaderState::kCalled);
  ASM_CONSTANT(STATE_NOT_LOADED, LoaderState::kNotLoaded);
  ASM_CONSTANT(FILES_PRIVATE, kFilesPrivate);
  ASM_CONSTANT(FILES_SHARED, kFilesShared);
  ASM_CONSTANT(UNSHARE_DONE, kUnshared);
  ASM_CONSTANT(UNSHARE_REFUSED, kUnshareRefused);
  ASM_CONSTANT(SOCKET_KIND, SOCK_SEQPACKET | SOCK_CLOEXEC);
  ASM_CONSTANT(FUTEX_WAIT_HERE, FUTEX_WAIT_PRIVATE);
  ASM_CONSTANT(FUTEX_WAKE_HERE, FUTEX_WAKE_PRIVATE);
  ASM_CONSTANT(DUPLICATE_FROM, F_DUPFD_CLOEXEC);
  ASM_CONSTANT(CMSG_CLOEXEC, MSG_CMSG_CLOEXEC);
  ASM_CONSTANT(SET_NAME, PR_SET_NAME);
}

}  // namespace patchbay::attach
