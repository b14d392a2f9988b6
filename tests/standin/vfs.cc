// SPDX-License-Identifier: MIT
//
// Functions of the kernel's file systems that nobody calls, in the kernel's order: whole families
// (all that begin with vfs_f, vfs_mk, vfs_u), so that a glob selects here what it selects there.
// Each begins with a nop of five bytes, as a kernel's function does.
#include "kernel.h"

#define FUNCTION(name)                                                                         \
  __asm__(".pushsection .text\n\t.balign 16\n\t.globl " #name "\n\t.type " #name               \
          ", @function\n" #name ":\n\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"                  \
          "lea 1(%rdi), %rax\n\tnop\n\tret\n\t.size " #name ", . - " #name "\n\t.popsection");

FUNCTION(vfs_fadvise)
FUNCTION(vfs_fallocate)
FUNCTION(vfs_fchmod)
FUNCTION(vfs_fchown)
FUNCTION(vfs_fstat)
FUNCTION(vfs_fstatat)
FUNCTION(vfs_unlink)
FUNCTION(vfs_mkobj)
FUNCTION(vfs_create)
FUNCTION(vfs_mkdir)
FUNCTION(vfs_mknod)
FUNCTION(vfs_link)
FUNCTION(vfs_fileattr_get)
FUNCTION(vfs_fileattr_set)
FUNCTION(vfs_fsync_range)
FUNCTION(vfs_fsync)
FUNCTION(vfs_utimes)
