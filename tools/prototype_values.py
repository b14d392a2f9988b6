# SPDX-License-Identifier: MIT
"""Which names the values of a parameter have, for tools/prototypes.

This is what headers do not say, and man pages do: the page of each entry stands in it. Names and
values are the headers'. Names are words or regular expressions; of several with one value the file
has the one that is not in `without`, which is the one that strace prints. A name that no header
has, a parameter that no function has, and two names with one value are errors.
"""
import re
import sys


class Value:
    # `field`: the bits of a word of flags that are one number, by the name of their mask in the
    # headers, or by the names of the numbers.
    def __init__(self, page, names, parameters, without="", field="", are_flags=False):
        self.page = page
        self.patterns = names.split()
        self.parameters = parameters
        self.without = without.split()
        self.field = field
        self.are_flags = are_flags

    def pattern(self):
        return "|".join(self.patterns + self.field.split())

    # (name, value) in the order of `names`, then by value, which is the order in which flags are
    # shown; behind them the mask of a field, which never is.
    def names(self, constants):
        words = [word for word in self.patterns if re.fullmatch(r"\w+", word)]
        for word in words + self.without + self.field.split():
            if not any(re.fullmatch(word, name) for name in constants):
                sys.exit(f"tools/prototypes: no header has the {word} of {self.page}")
        by_value = {}
        for name, value in sorted(constants.items()):
            if name in self.without or not re.fullmatch("|".join(self.patterns), name):
                continue
            if value in by_value:
                sys.exit(f"tools/prototypes: {self.page}: {by_value[value]} and {name}: {value}")
            by_value[value] = name
        def place(pair):
            fits = [re.fullmatch(pattern, pair[0]) is not None for pattern in self.patterns]
            return fits.index(True), pair[1]

        pairs = [(name, value) for value, name in by_value.items()]
        return sorted(pairs, key=place) + self.mask(constants)

    def mask(self, constants):
        if not self.field:
            return []
        inside = [v for n, v in constants.items() if re.fullmatch("|".join(self.field.split()), n)]
        return [("FIELD_MASK", (1 << max(inside).bit_length()) - 1)]


def flags(page, names, parameters, **more):
    return Value(page, names, parameters, are_flags=True, **more)


def enumeration(page, names, parameters, **more):
    return Value(page, names, parameters, **more)


LIBC = {
    # --- files
    "open_flags": flags(
        "open(2), mq_open(3), sem_open(3), shm_open(3), posix_openpt(3)",
        "O_(?!CLOEXEC|DIRECTORY).+ O_CLOEXEC O_DIRECTORY",
        "open.oflag open64.oflag openat.oflag openat64.oflag mq_open.oflag sem_open.oflag"
        " shm_open.oflag posix_openpt.oflag posix_spawn_file_actions_addopen.oflag"
        " open_by_handle_at.flags",
        without="O_FSYNC O_RSYNC O_NDELAY O_LARGEFILE", field="O_ACCMODE"),
    "descriptor_flags": flags(
        "pipe2(2), dup3(2)", "O_CLOEXEC O_DIRECT O_NONBLOCK", "pipe2.flags dup3.flags"),
    "mkostemp_flags": flags(
        "mkstemp(3)", "O_APPEND O_CLOEXEC O_SYNC",
        "mkostemp.flags mkostemp64.flags mkostemps.flags mkostemps64.flags"),
    "xattr_flags": flags("setxattr(2)", "XATTR_CREATE XATTR_REPLACE",
                         "setxattr.flags lsetxattr.flags fsetxattr.flags"),
    "directory_fd": enumeration(
        "openat(2)", "AT_FDCWD",
        "openat.fd openat64.fd faccessat.fd fchmodat.fd fchownat.fd fstatat.fd fstatat64.fd"
        " futimesat.fd linkat.fromfd linkat.tofd mkdirat.fd mkfifoat.fd mknodat.fd readlinkat.fd"
        " renameat.oldfd renameat.newfd renameat2.oldfd renameat2.newfd symlinkat.tofd unlinkat.fd"
        " utimensat.fd statx.dirfd execveat.fd name_to_handle_at.dfd scandirat.dfd"),
    "access_mode": flags("access(2)", "F_OK R_OK W_OK X_OK",
                         "access.type faccessat.type euidaccess.type eaccess.type"),
    "faccessat_flags": flags(
        "faccessat(2)", "AT_EACCESS AT_EMPTY_PATH AT_SYMLINK_NOFOLLOW", "faccessat.flag"),
    "unlinkat_flags": flags("unlink(2)", "AT_REMOVEDIR", "unlinkat.flag"),
    "linkat_flags": flags("link(2)", "AT_EMPTY_PATH AT_SYMLINK_FOLLOW", "linkat.flags"),
    "fstatat_flags": flags(
        "stat(2), chmod(2), chown(2), utimensat(2), execveat(2)",
        "AT_EMPTY_PATH AT_NO_AUTOMOUNT AT_SYMLINK_NOFOLLOW",
        "fstatat.flag fstatat64.flag fchmodat.flag fchownat.flag utimensat.flags execveat.flags"),
    "statx_flags": flags(
        "statx(2)", r"AT_EMPTY_PATH AT_NO_AUTOMOUNT AT_SYMLINK_NOFOLLOW AT_STATX_\w+",
        "statx.flags", without="AT_STATX_SYNC_TYPE"),
    "statx_mask": flags("statx(2)", r"STATX_(?!ATTR_)\w+", "statx.mask",
                        without="STATX__RESERVED"),
    "name_to_handle_flags": flags("open_by_handle_at(2)", "AT_EMPTY_PATH AT_SYMLINK_FOLLOW",
                                  "name_to_handle_at.flags"),
    "rename_flags": flags("rename(2)", r"RENAME_\w+", "renameat2.flags"),
    "fcntl_command": enumeration(
        "fcntl(2)",
        r"F_DUPFD\w* F_[GS]ETFD F_[GS]ETFL F_[GS]ETLKW? F_SETLKW F_OFD_\w+ F_[GS]ETOWN(_EX)?"
        r" F_[GS]ETSIG F_[GS]ETLEASE F_NOTIFY F_[GS]ETPIPE_SZ F_ADD_SEALS F_GET_SEALS"
        r" F_[GS]ET_(FILE_)?RW_HINT", "fcntl.cmd fcntl64.cmd"),
    "lockf_command": enumeration("lockf(3)", "F_U?LOCK F_TLOCK F_TEST", "lockf.cmd lockf64.cmd"),
    "flock_operation": flags("flock(2)", "LOCK_EX LOCK_NB LOCK_SH LOCK_UN", "flock.operation"),
    "whence": enumeration(
        "lseek(2), fseek(3)", r"SEEK_\w+",
        "lseek.whence lseek64.whence fseek.whence fseeko.whence fseeko64.whence"),
    "fallocate_mode": flags("fallocate(2)", r"FALLOC_FL_\w+", "fallocate.mode fallocate64.mode"),
    "fadvise_advice": enumeration("posix_fadvise(2)", r"POSIX_FADV_\w+",
                                  "posix_fadvise.advise posix_fadvise64.advise"),
    "sync_file_range_flags": flags("sync_file_range(2)", r"SYNC_FILE_RANGE_\w+",
                                   "sync_file_range.flags",
                                   without="SYNC_FILE_RANGE_WRITE_AND_WAIT"),
    "rw_flags": flags("readv(2)", "RWF_(?!WRITE_LIFE).+",
                      "preadv2.flags preadv64v2.flags pwritev2.flags pwritev64v2.flags"),
    "splice_flags": flags("splice(2), tee(2), vmsplice(2)", r"SPLICE_F_\w+",
                          "splice.flags tee.flags vmsplice.flags"),
    "close_range_flags": flags("close_range(2)", r"CLOSE_RANGE_\w+", "close_range.flags"),
    "buffering": enumeration("setvbuf(3)", "_IO[FLN]BF", "setvbuf.modes"),
    "mount_flags": flags(
        "mount(2)", r"MS_\w+", "mount.rwflag",
        without="MS_ASYNC MS_INVALIDATE MS_SYNC MS_ACTIVE MS_BORN MS_MGC_MSK MS_MGC_VAL MS_NOUSER"
        " MS_RMT_MASK MS_VERBOSE"),
    "umount_flags": flags("umount(2)", r"MNT_\w+ UMOUNT_NOFOLLOW", "umount2.flags"),
    # --- memory
    "memory_protection": flags("mmap(2), mprotect(2)", r"PROT_\w+",
                               "mmap.prot mmap64.prot mprotect.prot pkey_mprotect.prot"),
    "mmap_flags": flags("mmap(2)", r"MAP_\w+", "mmap.flags mmap64.flags",
                        without="MAP_ANON MAP_TYPE MAP_HUGE_MASK MAP_HUGE_SHIFT", field="MAP_TYPE"),
    "mremap_flags": flags("mremap(2)", r"MREMAP_\w+", "mremap.flags"),
    "madvise_advice": enumeration("madvise(2)", r"MADV_\w+",
                                  "madvise.advice process_madvise.advice"),
    "posix_madvise_advice": enumeration("posix_madvise(3)", r"POSIX_MADV_\w+",
                                        "posix_madvise.advice"),
    "msync_flags": flags("msync(2)", "MS_ASYNC MS_INVALIDATE MS_SYNC", "msync.flags"),
    "mlock2_flags": flags("mlock(2)", r"MLOCK_\w+", "mlock2.flags"),
    "mlockall_flags": flags("mlock(2)", r"MCL_\w+", "mlockall.flags"),
    "memfd_flags": flags("memfd_create(2)", r"MFD_\w+", "memfd_create.flags"),
    "shmat_flags": flags("shmop(2)", "SHM_EXEC SHM_RDONLY SHM_REMAP SHM_RND", "shmat.shmflg"),
    "random_flags": flags("getrandom(2)", r"GRND_\w+", "getrandom.flags"),
    # --- sockets
    "address_family": enumeration(
        "socket(2), inet_pton(3)", r"AF_\w+",
        "socket.domain socketpair.domain inet_pton.af inet_ntop.af gethostbyname2.af",
        without="AF_LOCAL AF_FILE AF_ROUTE AF_MAX"),
    "socket_type": flags(
        "socket(2)", r"SOCK_\w+", "socket.type socketpair.type",
        field="SOCK_STREAM SOCK_DGRAM SOCK_RAW SOCK_RDM SOCK_SEQPACKET SOCK_DCCP SOCK_PACKET"),
    "accept_flags": flags("accept(2)", "SOCK_CLOEXEC SOCK_NONBLOCK", "accept4.flags"),
    "message_flags": flags(
        "send(2), recv(2)", r"MSG_\w+",
        "send.flags sendto.flags sendmsg.flags sendmmsg.flags recv.flags recvfrom.flags"
        " recvmsg.flags recvmmsg.flags",
        without="MSG_COPY MSG_EXCEPT MSG_INFO MSG_NOERROR MSG_STAT MSG_STAT_ANY MSG_TRYHARD"),
    "shutdown_how": enumeration("shutdown(2)", r"SHUT_\w+", "shutdown.how"),
    "socket_level": enumeration("getsockopt(2)", r"SOL_\w+", "getsockopt.level setsockopt.level"),
    "nameinfo_flags": flags("getnameinfo(3)", r"NI_\w+", "getnameinfo.flags",
                            without="NI_MAXHOST NI_MAXSERV"),
    # --- descriptors for events
    "epoll_flags": flags("epoll_create(2)", "EPOLL_CLOEXEC", "epoll_create1.flags"),
    "epoll_operation": enumeration("epoll_ctl(2)", r"EPOLL_CTL_\w+", "epoll_ctl.op"),
    "eventfd_flags": flags("eventfd(2)", r"EFD_\w+", "eventfd.flags"),
    "signalfd_flags": flags("signalfd(2)", r"SFD_\w+", "signalfd.flags"),
    "timerfd_flags": flags("timerfd_create(2)", "TFD_CLOEXEC TFD_NONBLOCK", "timerfd_create.flags"),
    "timerfd_timer_flags": flags("timerfd_create(2)", r"TFD_TIMER_\w+", "timerfd_settime.flags"),
    "inotify_flags": flags("inotify_init(2)", "IN_CLOEXEC IN_NONBLOCK", "inotify_init1.flags"),
    "inotify_events": flags(
        "inotify(7)",
        "IN_ACCESS IN_ATTRIB IN_CLOSE_NOWRITE IN_CLOSE_WRITE IN_CREATE IN_DELETE IN_DELETE_SELF"
        " IN_DONT_FOLLOW IN_EXCL_UNLINK IN_MASK_ADD IN_MASK_CREATE IN_MODIFY IN_MOVED_FROM"
        " IN_MOVED_TO IN_MOVE_SELF IN_ONESHOT IN_ONLYDIR IN_OPEN", "inotify_add_watch.mask"),
    # --- signals, processes
    "signal_number": enumeration(
        "signal(7)", "SIG[A-Z0-9]+",
        "kill.sig killpg.sig raise.sig gsignal.sig sigaction.sig signal.sig ssignal.sig sigset.sig"
        " sighold.sig sigrelse.sig sigignore.sig siginterrupt.sig sigaddset.signo sigdelset.signo"
        " sigismember.signo strsignal.sig psignal.sig tgkill.signal pthread_kill.signo"
        " pidfd_send_signal.sig sigabbrev_np.sig sigdescr_np.sig",
        without="SIGCLD SIGIOT SIGPOLL"),
    "sigprocmask_how": enumeration("sigprocmask(2)", "SIG_BLOCK SIG_SETMASK SIG_UNBLOCK",
                                   "sigprocmask.how pthread_sigmask.how"),
    "wait_options": flags("wait(2)", "WNOHANG WSTOPPED WEXITED WCONTINUED WNOWAIT __WALL __WCLONE"
                          " __WNOTHREAD",
                          "waitpid.options wait3.options wait4.options waitid.options"),
    "clone_flags": flags("clone(2)", r"CLONE_\w+ SIGCHLD", "clone.flags",
                         without="CLONE_NEWTIME", field="CSIGNAL"),
    "namespace_types": flags("namespaces(7)", r"CLONE_NEW\w+", "setns.nstype"),
    "unshare_flags": flags("unshare(2)", r"CLONE_FILES CLONE_FS CLONE_SYSVSEM CLONE_NEW\w+",
                           "unshare.flags"),
    "prctl_option": enumeration(
        "prctl(2)",
        r"PR_[GS]ET_(?!MM_|VMA_|PTRACER_ANY)\w+ PR_SET_MM PR_SET_VMA PR_CAPBSET_\w+"
        r" PR_CAP_AMBIENT PR_MCE_KILL PR_MCE_KILL_GET PR_TASK_PERF_EVENTS_\w+ PR_SCHED_CORE"
        r" PR_PAC_\w+_KEYS PR_S[VM]E_[GS]ET_VL",
        "prctl.option"),
    "scheduler": flags(
        "sched_setscheduler(2)", r"SCHED_\w+",
        "sched_setscheduler.policy sched_get_priority_max.algorithm"
        " sched_get_priority_min.algorithm", field="SCHED_(?!RESET).+"),
    "resource_limit": enumeration(
        "getrlimit(2)", r"RLIMIT_\w+",
        "getrlimit.resource setrlimit.resource prlimit.resource getrlimit64.resource"
        " setrlimit64.resource prlimit64.resource", without="RLIMIT_NLIMITS RLIMIT_OFILE"),
    # --- time
    "clock": enumeration(
        "clock_gettime(2), timer_create(2), timerfd_create(2)", r"CLOCK_\w+",
        "clock_gettime.clock_id clock_settime.clock_id clock_getres.clock_id"
        " clock_nanosleep.clock_id timer_create.clock_id timerfd_create.clock_id"),
    "timer_flags": flags("clock_nanosleep(2), timer_settime(2)", "TIMER_ABSTIME",
                         "clock_nanosleep.flags timer_settime.flags"),
    # --- libc's own
    "locale_category": enumeration("setlocale(3)", r"LC_(?!.*MASK)\w+", "setlocale.category"),
    "dlopen_mode": flags("dlopen(3)", r"RTLD_(?!D[IL]_)\w+", "dlopen.mode dlmopen.mode",
                         without="RTLD_BINDING_MASK"),
    "terminal_actions": enumeration("termios(3)", "TCSA[A-Z]+", "tcsetattr.optional_actions"),
    "terminal_queue": enumeration("termios(3)", "TC[IO]+FLUSH", "tcflush.queue_selector"),
    "sysconf_name": enumeration("sysconf(3)", r"_SC_\w+", "sysconf.name",
                                without="_SC_PAGE_SIZE _SC_UIO_MAXIOV"),
    "pathconf_name": enumeration("fpathconf(3)", r"_PC_\w+", "pathconf.name fpathconf.name"),
    "fnmatch_flags": flags("fnmatch(3)", r"FNM_\w+", "fnmatch.flags",
                           without="FNM_FILE_NAME FNM_NOMATCH FNM_NOSYS"),
    "regcomp_flags": flags("regex(3)", "REG_EXTENDED REG_ICASE REG_NEWLINE REG_NOSUB",
                           "regcomp.cflags"),
    "regexec_flags": flags("regex(3)", "REG_NOTBOL REG_NOTEOL REG_STARTEND", "regexec.eflags"),
}

LIBC |= {
    "syscall_number": enumeration("syscalls(2)", r"SYS_(?!NMLN)\w+", "syscall.sysno"),
    "ioctl_request": enumeration(
        "ioctl_tty(2), ioctl(2)",
        r"TC[GS]ETS[WF]? TCSBRK TCXONC TCFLSH TIOC[GS](WINSZ|PGRP|SID|CTTY|PTN|PTLCK|ETD|EXCL)"
        r" TIOCEXCL TIOCNXCL TIOCNOTTY TIOCOUTQ TIOCSTI TIOCCONS FIONREAD FIONBIO FIOASYNC"
        r" FIOCLEX FIONCLEX SIOC[GS]IF\w+", "ioctl.request", without="SIOCGIFCOUNT SIOCSIFMAP"
        " SIOCGIFENCAP SIOCSIFENCAP SIOCGIFSLAVE SIOCSIFSLAVE SIOCGIFPFLAGS SIOCSIFPFLAGS"),
}

# What is passed for the `...` of a function: its manual page says which, and when. Names stand for
# their values; of `FIELD & NAMES` one bit has to be there, of `FIELD = NAMES` it is one of them.
# Names may be regular expressions.
MODE = "__mode_t mode if oflag & O_CREAT TMPFILE_BIT"
RESTS = {
    "libc": {
        "open open64 openat openat64": MODE,
        "mq_open": "__mode_t mode if oflag & O_CREAT; struct mq_attr *attr if oflag & O_CREAT",
        "sem_open": "__mode_t mode if oflag & O_CREAT; unsigned int value if oflag & O_CREAT",
        "fcntl fcntl64":
            "int arg if cmd = F_DUPFD F_DUPFD_CLOEXEC F_SETFD F_SETOWN F_SETSIG F_SETLEASE"
            " F_NOTIFY F_SETPIPE_SZ F_ADD_SEALS"
            " | enum open_flags flags if cmd = F_SETFL"
            " | void *at if cmd = F_[GS]ETLKW? F_OFD_[GS]ETLKW? F_[GS]ETOWN_EX"
            " F_[GS]ET_(FILE_)?RW_HINT",
        # What a request of a driver takes stands in its middle bits; those of terminals are older.
        "ioctl":
            "void *arg if request & SIZE_BITS"
            " | int number if request = TCSBRK TCXONC TCFLSH TIOCSCTTY"
            " | void *at if request = TC[GS]ETS[WF]? TIOC[GS]WINSZ TIOC[GS]PGRP"
            " TIOC[GS]ETD TIOCGSID TIOCOUTQ"
            " TIOCSTI FIONREAD FIONBIO FIOASYNC SIOC[GS]IF\\w+",
        "prctl":
            "const char *name if option = PR_SET_NAME"
            " | void *at if option = PR_GET_NAME PR_GET_PDEATHSIG PR_GET_CHILD_SUBREAPER"
            " PR_GET_UNALIGN PR_GET_ENDIAN PR_GET_TSC PR_GET_TID_ADDRESS"
            " | unsigned long number if option = PR_SET_PDEATHSIG PR_SET_DUMPABLE PR_SET_KEEPCAPS"
            " PR_SET_TIMERSLACK PR_SET_CHILD_SUBREAPER PR_SET_NO_NEW_PRIVS PR_SET_SECUREBITS"
            " PR_SET_THP_DISABLE PR_SET_TSC PR_SET_PTRACER PR_CAPBSET_READ PR_CAPBSET_DROP"
            " PR_SET_SECCOMP",
    },
}

# Of a result the parameter is called "return".
ZLIB = {
    "zlib_flush": enumeration(
        "zlib.h", "Z_(NO|PARTIAL|SYNC|FULL)_FLUSH Z_FINISH Z_BLOCK Z_TREES",
        "deflate.flush inflate.flush gzflush.flush"),
    "zlib_level": enumeration(
        "zlib.h", r"Z_\w+_COMPRESSION Z_BEST_SPEED",
        "deflateInit_.level deflateInit2_.level deflateParams.level compress2.level"
        " gzsetparams.level"),
    "zlib_strategy": enumeration(
        "zlib.h", "Z_FILTERED Z_HUFFMAN_ONLY Z_RLE Z_FIXED Z_DEFAULT_STRATEGY",
        "deflateInit2_.strategy deflateParams.strategy gzsetparams.strategy"),
    "zlib_method": enumeration("zlib.h", "Z_DEFLATED", "deflateInit2_.method"),
    "zlib_result": enumeration(
        "zlib.h", r"Z_OK Z_STREAM_END Z_NEED_DICT Z_ERRNO Z_\w+_ERROR",
        "deflate.return deflateInit_.return deflateInit2_.return deflateEnd.return"
        " deflateReset.return deflateParams.return deflateSetDictionary.return"
        " deflateCopy.return inflate.return inflateInit_.return inflateInit2_.return"
        " inflateEnd.return inflateReset.return inflateReset2.return inflateSetDictionary.return"
        " inflateSync.return inflateCopy.return compress.return compress2.return"
        " deflateResetKeep.return inflateResetKeep.return deflatePending.return"
        " deflatePrime.return inflatePrime.return deflateTune.return deflateSetHeader.return"
        " uncompress.return uncompress2.return gzclose.return gzflush.return zError.arg1"),
}

SQLITE3 = {
    "sqlite3_open_flags": flags(
        "https://sqlite.org/c3ref/c_open_autoproxy.html", r"SQLITE_OPEN_\w+",
        "sqlite3_open_v2.flags", without="SQLITE_OPEN_MASTER_JOURNAL"),
    "sqlite3_prepare_flags": flags(
        "https://sqlite.org/c3ref/c_prepare_normalize.html", r"SQLITE_PREPARE_\w+",
        "sqlite3_prepare_v3.prepFlags sqlite3_prepare16_v3.prepFlags"),
    "sqlite3_type": enumeration(
        "https://sqlite.org/c3ref/c_blob.html", "SQLITE_(INTEGER|FLOAT|TEXT|BLOB|NULL)",
        "sqlite3_column_type.return sqlite3_value_type.return"
        " sqlite3_value_numeric_type.return"),
    "sqlite3_result": enumeration(
        "https://sqlite.org/rescode.html",
        "SQLITE_(OK|ERROR|INTERNAL|PERM|ABORT|BUSY|LOCKED|NOMEM|READONLY|INTERRUPT|IOERR|CORRUPT"
        "|NOTFOUND|FULL|CANTOPEN|PROTOCOL|EMPTY|SCHEMA|TOOBIG|CONSTRAINT|MISMATCH|MISUSE|NOLFS"
        "|AUTH|FORMAT|RANGE|NOTADB|NOTICE|WARNING|ROW|DONE)"
        r" SQLITE_(IOERR|LOCKED|BUSY|CANTOPEN|CORRUPT|READONLY|ABORT|CONSTRAINT|NOTICE|WARNING)_\w+"
        " SQLITE_ERROR_(MISSING_COLLSEQ|RETRY|SNAPSHOT) SQLITE_AUTH_USER SQLITE_OK_SYMLINK"
        " SQLITE_OK_LOAD_PERMANENTLY",
        "sqlite3_open.return sqlite3_open16.return sqlite3_open_v2.return sqlite3_close.return"
        " sqlite3_close_v2.return sqlite3_exec.return sqlite3_get_table.return"
        " sqlite3_prepare.return sqlite3_prepare_v2.return sqlite3_prepare_v3.return"
        " sqlite3_prepare16.return sqlite3_prepare16_v2.return sqlite3_prepare16_v3.return"
        " sqlite3_step.return sqlite3_reset.return sqlite3_finalize.return"
        " sqlite3_clear_bindings.return sqlite3_bind_blob.return sqlite3_bind_blob64.return"
        " sqlite3_bind_double.return sqlite3_bind_int.return sqlite3_bind_int64.return"
        " sqlite3_bind_null.return sqlite3_bind_text.return sqlite3_bind_text16.return"
        " sqlite3_bind_text64.return sqlite3_bind_value.return sqlite3_bind_pointer.return"
        " sqlite3_bind_zeroblob.return sqlite3_bind_zeroblob64.return"
        " sqlite3_errcode.return sqlite3_extended_errcode.return"
        " sqlite3_extended_result_codes.return sqlite3_busy_timeout.return"
        " sqlite3_busy_handler.return sqlite3_create_function.return"
        " sqlite3_create_function_v2.return sqlite3_create_collation_v2.return"
        " sqlite3_create_module_v2.return sqlite3_initialize.return sqlite3_shutdown.return"
        " sqlite3_backup_step.return sqlite3_backup_finish.return sqlite3_blob_open.return"
        " sqlite3_blob_read.return sqlite3_blob_write.return sqlite3_blob_close.return"
        " sqlite3_wal_checkpoint.return sqlite3_wal_checkpoint_v2.return"
        " sqlite3_table_column_metadata.return sqlite3_load_extension.return"
        " sqlite3_errstr.arg1"),
}

OPENSSL = {
    "ssl_verify_mode": flags(
        "SSL_CTX_set_verify(3)", r"SSL_VERIFY_\w+",
        "SSL_set_verify.mode SSL_CTX_set_verify.mode SSL_get_verify_mode.return"
        " SSL_CTX_get_verify_mode.return"),
    "ssl_error": enumeration("SSL_get_error(3)", r"SSL_ERROR_\w+", "SSL_get_error.return"),
    "ssl_file_type": enumeration(
        "SSL_CTX_use_certificate(3)", "SSL_FILETYPE_ASN1 SSL_FILETYPE_PEM",
        "SSL_use_certificate_file.type SSL_use_PrivateKey_file.type"
        " SSL_CTX_use_certificate_file.type SSL_CTX_use_PrivateKey_file.type"),
}

VALUES = {"libc": LIBC, "zlib": ZLIB, "sqlite3": SQLITE3, "openssl": OPENSSL}
