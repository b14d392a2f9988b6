// SPDX-License-Identifier: MIT
// A FUSE mount with one file, `trace_pipe`, that has a text from memory: what bench/trace_pipe
// holds Patchbay's mount against. Library, options, sizes and the loop are those of
// cmd/mount/mount_fuse.cc and mount_operations.cc; a read is answered at once.
//
//   fuse_text TEXT_FILE SIZE DIR      SIZE: bytes of one read, at most
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char* text;
static size_t text_size, read_size, position;

static void fill(fuse_ino_t inode, struct stat* out) {
  memset(out, 0, sizeof *out);
  out->st_ino = inode;
  out->st_mode = inode == 1 ? S_IFDIR | 0700 : S_IFREG | 0400;
  out->st_nlink = 1;
}
static void init(void* data, struct fuse_conn_info* connection) {
  (void)data;
  connection->max_readahead = 0;
  connection->max_write = 128 * 1024;
}
static void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  struct fuse_entry_param entry = {.ino = 2, .entry_timeout = 1, .attr_timeout = 1};
  if (parent != 1 || strcmp(name, "trace_pipe") != 0) return (void)fuse_reply_err(request, ENOENT);
  fill(2, &entry.attr);
  fuse_reply_entry(request, &entry);
}
static void getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info* info) {
  struct stat attributes;
  (void)info;
  fill(inode, &attributes);
  fuse_reply_attr(request, &attributes, 1);
}
static void open_text(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info* info) {
  (void)inode;
  position = 0;
  info->direct_io = 1;
  info->nonseekable = 1;
  fuse_reply_open(request, info);
}
static void read_text(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                      struct fuse_file_info* info) {
  (void)inode, (void)offset, (void)info;
  if (size > read_size) size = read_size;
  if (size > text_size - position) size = text_size - position;
  fuse_reply_buf(request, text + position, size);
  position += size;
}
static const struct fuse_lowlevel_ops operations = {
    .init = init, .lookup = lookup, .getattr = getattr, .open = open_text, .read = read_text};

static int run(struct fuse_session* session) {
  struct fuse_buf buffer = {0};
  const int device = fuse_session_fd(session);
  int idle = 0;
  fcntl(device, F_SETFL, fcntl(device, F_GETFL) | O_NONBLOCK);
  while (!fuse_session_exited(session)) {
    const int size = fuse_session_receive_buf(session, &buffer);
    if (size > 0) {
      fuse_session_process_buf(session, &buffer);
      idle = 0;
    } else if (size != -EAGAIN && size != -EINTR) {
      return size != 0 && size != -ENODEV;
    } else if (++idle < 50) {
      sched_yield();
    } else {
      struct pollfd polled = {device, POLLIN, 0};
      poll(&polled, 1, -1);
      idle = 0;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  FILE* file = argc == 4 ? fopen(argv[1], "r") : NULL;
  if (!file) return fprintf(stderr, "usage: fuse_text TEXT_FILE SIZE DIR\n"), 2;
  struct stat status;
  if (fstat(fileno(file), &status) != 0) return perror(argv[1]), 1;
  text_size = (size_t)status.st_size;
  text = malloc(text_size + 1);
  if (!text || fread(text, 1, text_size, file) != text_size) return perror(argv[1]), 1;
  fclose(file);
  read_size = strtoul(argv[2], NULL, 10);
  char* words[] = {"fuse_text", "-o",
                   "fsname=patchbay,subtype=tracefs,default_permissions,allow_other", NULL};
  struct fuse_args arguments = FUSE_ARGS_INIT(3, words);
  struct fuse_session* session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
  if (!session || fuse_session_mount(session, argv[3]) != 0) return 1;
  const int status_of_loop = run(session);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return status_of_loop;
}
