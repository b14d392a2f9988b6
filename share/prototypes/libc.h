// SPDX-License-Identifier: MIT
// Made by tools/prototypes from the headers of libc6-dev 2.36-9+deb12u14.
// How they tell that they have failed is from Linux man-pages 6.03.
// library: libc.so.6 libpthread.so.0 libdl.so.2 librt.so.1
typedef long Lmid_t;
typedef float _Float32;
typedef double _Float32x;
typedef double _Float64;
typedef long double _Float64x;
typedef void (*__action_fn_t)(const void *, VISIT, int);
typedef char *__caddr_t;
typedef int __clockid_t;
typedef int (*__compar_d_fn_t)(const void *, const void *, void *);
typedef int (*__compar_fn_t)(const void *, const void *);
typedef unsigned long __dev_t;
typedef void (*__free_fn_t)(void *);
typedef int (*__ftw64_func_t)(const char *, const struct stat64 *, int);
typedef int (*__ftw_func_t)(const char *, const struct stat *, int);
typedef unsigned int __gid_t;
typedef unsigned int __id_t;
typedef enum __itimer_which __itimer_which_t;
typedef unsigned int __mode_t;
typedef int (*__nftw64_func_t)(const char *, const struct stat64 *, int, struct FTW *);
typedef int (*__nftw_func_t)(const char *, const struct stat *, int, struct FTW *);
typedef long __off64_t;
typedef int __pid_t;
typedef enum __priority_which __priority_which_t;
typedef unsigned int __re_size_t;
typedef enum __rusage_who __rusage_who_t;
typedef void (*__sighandler_t)(int);
typedef unsigned int __socklen_t;
typedef long __ssize_t;
typedef unsigned int __uid_t;
typedef unsigned int __uint32_t;
typedef unsigned int __useconds_t;
typedef unsigned short char16_t;
typedef unsigned int char32_t;
typedef unsigned char char8_t;
typedef long clock_t;
typedef int clockid_t;
typedef int error_t;
typedef unsigned long eventfd_t;
typedef void *iconv_t;
typedef unsigned int id_t;
typedef enum idtype_t idtype_t;
typedef unsigned int in_addr_t;
typedef long intmax_t;
typedef long intptr_t;
typedef int key_t;
typedef struct __locale_struct *locale_t;
typedef unsigned int mode_t;
typedef int mqd_t;
typedef unsigned long nfds_t;
typedef void *nl_catd;
typedef int nl_item;
typedef long off64_t;
typedef int pid_t;
typedef unsigned int pthread_key_t;
typedef unsigned long pthread_t;
typedef unsigned long reg_syntax_t;
typedef int regoff_t;
typedef struct __res_state *res_state;
typedef unsigned short sa_family_t;
typedef unsigned long size_t;
typedef unsigned int socklen_t;
typedef unsigned int speed_t;
typedef long ssize_t;
typedef int (*thrd_start_t)(void *);
typedef unsigned long thrd_t;
typedef long time_t;
typedef void *timer_t;
typedef void (*tss_dtor_t)(void *);
typedef unsigned int tss_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned char uint8_t;
typedef unsigned long uintmax_t;
typedef int wchar_t;
typedef const __int32_t *wctrans_t;
typedef unsigned long wctype_t;
typedef unsigned int wint_t;
enum __attribute__((flag_enum)) accept_flags { SOCK_CLOEXEC = 0x80000, SOCK_NONBLOCK = 0x800 };
enum __attribute__((flag_enum)) access_mode { F_OK = 0, R_OK = 0x4, W_OK = 0x2, X_OK = 0x1 };
enum __attribute__((flag_enum)) clone_flags : int { CLONE_VM = 0x100, CLONE_FS = 0x200, CLONE_FILES = 0x400, CLONE_SIGHAND = 0x800, CLONE_PIDFD = 0x1000, CLONE_PTRACE = 0x2000, CLONE_VFORK = 0x4000, CLONE_PARENT = 0x8000, CLONE_THREAD = 0x10000, CLONE_NEWNS = 0x20000, CLONE_SYSVSEM = 0x40000, CLONE_SETTLS = 0x80000, CLONE_PARENT_SETTID = 0x100000, CLONE_CHILD_CLEARTID = 0x200000, CLONE_DETACHED = 0x400000, CLONE_UNTRACED = 0x800000, CLONE_CHILD_SETTID = 0x1000000, CLONE_NEWCGROUP = 0x2000000, CLONE_NEWUTS = 0x4000000, CLONE_NEWIPC = 0x8000000, CLONE_NEWUSER = 0x10000000, CLONE_NEWPID = 0x20000000, CLONE_NEWNET = 0x40000000, CLONE_IO = 0x80000000, SIGCHLD = 0x11, FIELD_MASK = 0xff };
enum __attribute__((flag_enum)) close_range_flags { CLOSE_RANGE_UNSHARE = 0x2, CLOSE_RANGE_CLOEXEC = 0x4 };
enum __attribute__((flag_enum)) descriptor_flags { O_CLOEXEC = 0x80000, O_DIRECT = 0x4000, O_NONBLOCK = 0x800 };
enum __attribute__((flag_enum)) dlopen_mode { RTLD_LOCAL = 0, RTLD_LAZY = 0x1, RTLD_NOW = 0x2, RTLD_NOLOAD = 0x4, RTLD_DEEPBIND = 0x8, RTLD_GLOBAL = 0x100, RTLD_NODELETE = 0x1000 };
enum __attribute__((flag_enum)) epoll_flags { EPOLL_CLOEXEC = 0x80000 };
enum __attribute__((flag_enum)) eventfd_flags { EFD_SEMAPHORE = 0x1, EFD_NONBLOCK = 0x800, EFD_CLOEXEC = 0x80000 };
enum __attribute__((flag_enum)) faccessat_flags { AT_EACCESS = 0x200, AT_EMPTY_PATH = 0x1000, AT_SYMLINK_NOFOLLOW = 0x100 };
enum __attribute__((flag_enum)) fallocate_mode { FALLOC_FL_KEEP_SIZE = 0x1, FALLOC_FL_PUNCH_HOLE = 0x2, FALLOC_FL_NO_HIDE_STALE = 0x4, FALLOC_FL_COLLAPSE_RANGE = 0x8, FALLOC_FL_ZERO_RANGE = 0x10, FALLOC_FL_INSERT_RANGE = 0x20, FALLOC_FL_UNSHARE_RANGE = 0x40 };
enum __attribute__((flag_enum)) flock_operation { LOCK_EX = 0x2, LOCK_NB = 0x4, LOCK_SH = 0x1, LOCK_UN = 0x8 };
enum __attribute__((flag_enum)) fnmatch_flags { FNM_PATHNAME = 0x1, FNM_NOESCAPE = 0x2, FNM_PERIOD = 0x4, FNM_LEADING_DIR = 0x8, FNM_CASEFOLD = 0x10, FNM_EXTMATCH = 0x20 };
enum __attribute__((flag_enum)) fstatat_flags { AT_EMPTY_PATH = 0x1000, AT_NO_AUTOMOUNT = 0x800, AT_SYMLINK_NOFOLLOW = 0x100 };
enum __attribute__((flag_enum)) inotify_events : unsigned int { IN_ACCESS = 0x1, IN_ATTRIB = 0x4, IN_CLOSE_NOWRITE = 0x10, IN_CLOSE_WRITE = 0x8, IN_CREATE = 0x100, IN_DELETE = 0x200, IN_DELETE_SELF = 0x400, IN_DONT_FOLLOW = 0x2000000, IN_EXCL_UNLINK = 0x4000000, IN_MASK_ADD = 0x20000000, IN_MASK_CREATE = 0x10000000, IN_MODIFY = 0x2, IN_MOVED_FROM = 0x40, IN_MOVED_TO = 0x80, IN_MOVE_SELF = 0x800, IN_ONESHOT = 0x80000000, IN_ONLYDIR = 0x1000000, IN_OPEN = 0x20 };
enum __attribute__((flag_enum)) inotify_flags { IN_CLOEXEC = 0x80000, IN_NONBLOCK = 0x800 };
enum __attribute__((flag_enum)) linkat_flags { AT_EMPTY_PATH = 0x1000, AT_SYMLINK_FOLLOW = 0x400 };
enum __attribute__((flag_enum)) memfd_flags : unsigned int { MFD_CLOEXEC = 0x1, MFD_ALLOW_SEALING = 0x2, MFD_HUGETLB = 0x4 };
enum __attribute__((flag_enum)) memory_protection { PROT_NONE = 0, PROT_READ = 0x1, PROT_WRITE = 0x2, PROT_EXEC = 0x4, PROT_GROWSDOWN = 0x1000000, PROT_GROWSUP = 0x2000000 };
enum __attribute__((flag_enum)) message_flags { MSG_OOB = 0x1, MSG_PEEK = 0x2, MSG_DONTROUTE = 0x4, MSG_CTRUNC = 0x8, MSG_PROXY = 0x10, MSG_TRUNC = 0x20, MSG_DONTWAIT = 0x40, MSG_EOR = 0x80, MSG_WAITALL = 0x100, MSG_FIN = 0x200, MSG_SYN = 0x400, MSG_CONFIRM = 0x800, MSG_RST = 0x1000, MSG_ERRQUEUE = 0x2000, MSG_NOSIGNAL = 0x4000, MSG_MORE = 0x8000, MSG_WAITFORONE = 0x10000, MSG_BATCH = 0x40000, MSG_ZEROCOPY = 0x4000000, MSG_FASTOPEN = 0x20000000, MSG_CMSG_CLOEXEC = 0x40000000 };
enum __attribute__((flag_enum)) mkostemp_flags { O_APPEND = 0x400, O_CLOEXEC = 0x80000, O_SYNC = 0x101000 };
enum __attribute__((flag_enum)) mlock2_flags : unsigned int { MLOCK_ONFAULT = 0x1 };
enum __attribute__((flag_enum)) mlockall_flags { MCL_CURRENT = 0x1, MCL_FUTURE = 0x2, MCL_ONFAULT = 0x4 };
enum __attribute__((flag_enum)) mmap_flags { MAP_FILE = 0, MAP_SHARED = 0x1, MAP_PRIVATE = 0x2, MAP_SHARED_VALIDATE = 0x3, MAP_FIXED = 0x10, MAP_ANONYMOUS = 0x20, MAP_32BIT = 0x40, MAP_GROWSDOWN = 0x100, MAP_DENYWRITE = 0x800, MAP_EXECUTABLE = 0x1000, MAP_LOCKED = 0x2000, MAP_NORESERVE = 0x4000, MAP_POPULATE = 0x8000, MAP_NONBLOCK = 0x10000, MAP_STACK = 0x20000, MAP_HUGETLB = 0x40000, MAP_SYNC = 0x80000, MAP_FIXED_NOREPLACE = 0x100000, FIELD_MASK = 0xf };
enum __attribute__((flag_enum)) mount_flags : unsigned long { MS_RDONLY = 0x1, MS_NOSUID = 0x2, MS_NODEV = 0x4, MS_NOEXEC = 0x8, MS_SYNCHRONOUS = 0x10, MS_REMOUNT = 0x20, MS_MANDLOCK = 0x40, MS_DIRSYNC = 0x80, MS_NOSYMFOLLOW = 0x100, MS_NOATIME = 0x400, MS_NODIRATIME = 0x800, MS_BIND = 0x1000, MS_MOVE = 0x2000, MS_REC = 0x4000, MS_SILENT = 0x8000, MS_POSIXACL = 0x10000, MS_UNBINDABLE = 0x20000, MS_PRIVATE = 0x40000, MS_SLAVE = 0x80000, MS_SHARED = 0x100000, MS_RELATIME = 0x200000, MS_KERNMOUNT = 0x400000, MS_I_VERSION = 0x800000, MS_STRICTATIME = 0x1000000, MS_LAZYTIME = 0x2000000, MS_SUBMOUNT = 0x4000000, MS_NOREMOTELOCK = 0x8000000, MS_NOSEC = 0x10000000 };
enum __attribute__((flag_enum)) mremap_flags { MREMAP_MAYMOVE = 0x1, MREMAP_FIXED = 0x2, MREMAP_DONTUNMAP = 0x4 };
enum __attribute__((flag_enum)) msync_flags { MS_ASYNC = 0x1, MS_INVALIDATE = 0x2, MS_SYNC = 0x4 };
enum __attribute__((flag_enum)) name_to_handle_flags { AT_EMPTY_PATH = 0x1000, AT_SYMLINK_FOLLOW = 0x400 };
enum __attribute__((flag_enum)) nameinfo_flags { NI_NUMERICHOST = 0x1, NI_NUMERICSERV = 0x2, NI_NOFQDN = 0x4, NI_NAMEREQD = 0x8, NI_DGRAM = 0x10, NI_IDN = 0x20, NI_IDN_ALLOW_UNASSIGNED = 0x40, NI_IDN_USE_STD3_ASCII_RULES = 0x80 };
enum __attribute__((flag_enum)) namespace_types { CLONE_NEWTIME = 0x80, CLONE_NEWNS = 0x20000, CLONE_NEWCGROUP = 0x2000000, CLONE_NEWUTS = 0x4000000, CLONE_NEWIPC = 0x8000000, CLONE_NEWUSER = 0x10000000, CLONE_NEWPID = 0x20000000, CLONE_NEWNET = 0x40000000 };
enum __attribute__((flag_enum)) open_flags { O_RDONLY = 0, O_WRONLY = 0x1, O_RDWR = 0x2, O_ACCMODE = 0x3, O_CREAT = 0x40, O_EXCL = 0x80, O_NOCTTY = 0x100, O_TRUNC = 0x200, O_APPEND = 0x400, O_NONBLOCK = 0x800, O_DSYNC = 0x1000, O_ASYNC = 0x2000, O_DIRECT = 0x4000, O_NOFOLLOW = 0x20000, O_NOATIME = 0x40000, O_SYNC = 0x101000, O_PATH = 0x200000, O_TMPFILE = 0x410000, O_CLOEXEC = 0x80000, O_DIRECTORY = 0x10000, FIELD_MASK = 0x3 };
enum __attribute__((flag_enum)) random_flags : unsigned int { GRND_NONBLOCK = 0x1, GRND_RANDOM = 0x2, GRND_INSECURE = 0x4 };
enum __attribute__((flag_enum)) regcomp_flags { REG_EXTENDED = 0x1, REG_ICASE = 0x2, REG_NEWLINE = 0x4, REG_NOSUB = 0x8 };
enum __attribute__((flag_enum)) regexec_flags { REG_NOTBOL = 0x1, REG_NOTEOL = 0x2, REG_STARTEND = 0x4 };
enum __attribute__((flag_enum)) rename_flags : unsigned int { RENAME_NOREPLACE = 0x1, RENAME_EXCHANGE = 0x2, RENAME_WHITEOUT = 0x4 };
enum __attribute__((flag_enum)) rw_flags { RWF_HIPRI = 0x1, RWF_DSYNC = 0x2, RWF_SYNC = 0x4, RWF_NOWAIT = 0x8, RWF_APPEND = 0x10, RWF_NOAPPEND = 0x20 };
enum __attribute__((flag_enum)) scheduler { SCHED_OTHER = 0, SCHED_FIFO = 0x1, SCHED_RR = 0x2, SCHED_BATCH = 0x3, SCHED_ISO = 0x4, SCHED_IDLE = 0x5, SCHED_DEADLINE = 0x6, SCHED_RESET_ON_FORK = 0x40000000, FIELD_MASK = 0x7 };
enum __attribute__((flag_enum)) shmat_flags { SHM_EXEC = 0x8000, SHM_RDONLY = 0x1000, SHM_REMAP = 0x4000, SHM_RND = 0x2000 };
enum __attribute__((flag_enum)) signalfd_flags { SFD_NONBLOCK = 0x800, SFD_CLOEXEC = 0x80000 };
enum __attribute__((flag_enum)) socket_type { SOCK_STREAM = 0x1, SOCK_DGRAM = 0x2, SOCK_RAW = 0x3, SOCK_RDM = 0x4, SOCK_SEQPACKET = 0x5, SOCK_DCCP = 0x6, SOCK_PACKET = 0xa, SOCK_NONBLOCK = 0x800, SOCK_CLOEXEC = 0x80000, FIELD_MASK = 0xf };
enum __attribute__((flag_enum)) splice_flags : unsigned int { SPLICE_F_MOVE = 0x1, SPLICE_F_NONBLOCK = 0x2, SPLICE_F_MORE = 0x4, SPLICE_F_GIFT = 0x8 };
enum __attribute__((flag_enum)) statx_flags { AT_EMPTY_PATH = 0x1000, AT_NO_AUTOMOUNT = 0x800, AT_SYMLINK_NOFOLLOW = 0x100, AT_STATX_SYNC_AS_STAT = 0, AT_STATX_FORCE_SYNC = 0x2000, AT_STATX_DONT_SYNC = 0x4000 };
enum __attribute__((flag_enum)) statx_mask : unsigned int { STATX_TYPE = 0x1, STATX_MODE = 0x2, STATX_NLINK = 0x4, STATX_UID = 0x8, STATX_GID = 0x10, STATX_ATIME = 0x20, STATX_MTIME = 0x40, STATX_CTIME = 0x80, STATX_INO = 0x100, STATX_SIZE = 0x200, STATX_BLOCKS = 0x400, STATX_BASIC_STATS = 0x7ff, STATX_BTIME = 0x800, STATX_ALL = 0xfff, STATX_MNT_ID = 0x1000, STATX_DIOALIGN = 0x2000 };
enum __attribute__((flag_enum)) sync_file_range_flags : unsigned int { SYNC_FILE_RANGE_WAIT_BEFORE = 0x1, SYNC_FILE_RANGE_WRITE = 0x2, SYNC_FILE_RANGE_WAIT_AFTER = 0x4 };
enum __attribute__((flag_enum)) timer_flags { TIMER_ABSTIME = 0x1 };
enum __attribute__((flag_enum)) timerfd_flags { TFD_CLOEXEC = 0x80000, TFD_NONBLOCK = 0x800 };
enum __attribute__((flag_enum)) timerfd_timer_flags { TFD_TIMER_ABSTIME = 0x1, TFD_TIMER_CANCEL_ON_SET = 0x2 };
enum __attribute__((flag_enum)) umount_flags { MNT_FORCE = 0x1, MNT_DETACH = 0x2, MNT_EXPIRE = 0x4, UMOUNT_NOFOLLOW = 0x8 };
enum __attribute__((flag_enum)) unlinkat_flags { AT_REMOVEDIR = 0x200 };
enum __attribute__((flag_enum)) unshare_flags { CLONE_FILES = 0x400, CLONE_FS = 0x200, CLONE_SYSVSEM = 0x40000, CLONE_NEWTIME = 0x80, CLONE_NEWNS = 0x20000, CLONE_NEWCGROUP = 0x2000000, CLONE_NEWUTS = 0x4000000, CLONE_NEWIPC = 0x8000000, CLONE_NEWUSER = 0x10000000, CLONE_NEWPID = 0x20000000, CLONE_NEWNET = 0x40000000 };
enum __attribute__((flag_enum)) wait_options : int { WNOHANG = 0x1, WSTOPPED = 0x2, WEXITED = 0x4, WCONTINUED = 0x8, WNOWAIT = 0x1000000, __WALL = 0x40000000, __WCLONE = 0x80000000, __WNOTHREAD = 0x20000000 };
enum __attribute__((flag_enum)) xattr_flags { XATTR_CREATE = 0x1, XATTR_REPLACE = 0x2 };
enum __itimer_which { ITIMER_REAL = 0, ITIMER_VIRTUAL = 1, ITIMER_PROF = 2 };
enum __priority_which { PRIO_PROCESS = 0, PRIO_PGRP = 1, PRIO_USER = 2 };
enum __ptrace_request { PTRACE_TRACEME = 0, PTRACE_PEEKTEXT = 1, PTRACE_PEEKDATA = 2, PTRACE_PEEKUSER = 3, PTRACE_POKETEXT = 4, PTRACE_POKEDATA = 5, PTRACE_POKEUSER = 6, PTRACE_CONT = 7, PTRACE_KILL = 8, PTRACE_SINGLESTEP = 9, PTRACE_GETREGS = 12, PTRACE_SETREGS = 13, PTRACE_GETFPREGS = 14, PTRACE_SETFPREGS = 15, PTRACE_ATTACH = 16, PTRACE_DETACH = 17, PTRACE_GETFPXREGS = 18, PTRACE_SETFPXREGS = 19, PTRACE_SYSCALL = 24, PTRACE_GET_THREAD_AREA = 25, PTRACE_SET_THREAD_AREA = 26, PTRACE_ARCH_PRCTL = 30, PTRACE_SYSEMU = 31, PTRACE_SYSEMU_SINGLESTEP = 32, PTRACE_SINGLEBLOCK = 33, PTRACE_SETOPTIONS = 16896, PTRACE_GETEVENTMSG = 16897, PTRACE_GETSIGINFO = 16898, PTRACE_SETSIGINFO = 16899, PTRACE_GETREGSET = 16900, PTRACE_SETREGSET = 16901, PTRACE_SEIZE = 16902, PTRACE_INTERRUPT = 16903, PTRACE_LISTEN = 16904, PTRACE_PEEKSIGINFO = 16905, PTRACE_GETSIGMASK = 16906, PTRACE_SETSIGMASK = 16907, PTRACE_SECCOMP_GET_FILTER = 16908, PTRACE_SECCOMP_GET_METADATA = 16909, PTRACE_GET_SYSCALL_INFO = 16910, PTRACE_GET_RSEQ_CONFIGURATION = 16911 };
enum __rusage_who { RUSAGE_SELF = 0, RUSAGE_CHILDREN = -1, RUSAGE_THREAD = 1 };
enum address_family { AF_UNSPEC = 0, AF_UNIX = 1, AF_INET = 2, AF_AX25 = 3, AF_IPX = 4, AF_APPLETALK = 5, AF_NETROM = 6, AF_BRIDGE = 7, AF_ATMPVC = 8, AF_X25 = 9, AF_INET6 = 10, AF_ROSE = 11, AF_DECnet = 12, AF_NETBEUI = 13, AF_SECURITY = 14, AF_KEY = 15, AF_NETLINK = 16, AF_PACKET = 17, AF_ASH = 18, AF_ECONET = 19, AF_ATMSVC = 20, AF_RDS = 21, AF_SNA = 22, AF_IRDA = 23, AF_PPPOX = 24, AF_WANPIPE = 25, AF_LLC = 26, AF_IB = 27, AF_MPLS = 28, AF_CAN = 29, AF_TIPC = 30, AF_BLUETOOTH = 31, AF_IUCV = 32, AF_RXRPC = 33, AF_ISDN = 34, AF_PHONET = 35, AF_IEEE802154 = 36, AF_CAIF = 37, AF_ALG = 38, AF_NFC = 39, AF_VSOCK = 40, AF_KCM = 41, AF_QIPCRTR = 42, AF_SMC = 43, AF_XDP = 44, AF_MCTP = 45 };
enum buffering { _IOFBF = 0, _IOLBF = 1, _IONBF = 2 };
enum clock { CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 1, CLOCK_PROCESS_CPUTIME_ID = 2, CLOCK_THREAD_CPUTIME_ID = 3, CLOCK_MONOTONIC_RAW = 4, CLOCK_REALTIME_COARSE = 5, CLOCK_MONOTONIC_COARSE = 6, CLOCK_BOOTTIME = 7, CLOCK_REALTIME_ALARM = 8, CLOCK_BOOTTIME_ALARM = 9, CLOCK_TAI = 11 };
enum directory_fd { AT_FDCWD = -100 };
enum epoll_operation { EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL = 2, EPOLL_CTL_MOD = 3 };
enum fadvise_advice { POSIX_FADV_NORMAL = 0, POSIX_FADV_RANDOM = 1, POSIX_FADV_SEQUENTIAL = 2, POSIX_FADV_WILLNEED = 3, POSIX_FADV_DONTNEED = 4, POSIX_FADV_NOREUSE = 5 };
enum fcntl_command { F_DUPFD = 0, F_DUPFD_CLOEXEC = 1030, F_GETFD = 1, F_SETFD = 2, F_GETFL = 3, F_SETFL = 4, F_GETLK = 5, F_SETLK = 6, F_SETLKW = 7, F_OFD_GETLK = 36, F_OFD_SETLK = 37, F_OFD_SETLKW = 38, F_SETOWN = 8, F_GETOWN = 9, F_SETOWN_EX = 15, F_GETOWN_EX = 16, F_SETSIG = 10, F_GETSIG = 11, F_SETLEASE = 1024, F_GETLEASE = 1025, F_NOTIFY = 1026, F_SETPIPE_SZ = 1031, F_GETPIPE_SZ = 1032, F_ADD_SEALS = 1033, F_GET_SEALS = 1034, F_GET_RW_HINT = 1035, F_SET_RW_HINT = 1036, F_GET_FILE_RW_HINT = 1037, F_SET_FILE_RW_HINT = 1038 };
enum idtype_t { P_ALL = 0, P_PID = 1, P_PGID = 2, P_PIDFD = 3 };
enum ioctl_request : unsigned long { TCGETS = 21505, TCSETS = 21506, TCSETSW = 21507, TCSETSF = 21508, TCSBRK = 21513, TCXONC = 21514, TCFLSH = 21515, TIOCSCTTY = 21518, TIOCGPGRP = 21519, TIOCSPGRP = 21520, TIOCGWINSZ = 21523, TIOCSWINSZ = 21524, TIOCSETD = 21539, TIOCGETD = 21540, TIOCGSID = 21545, TIOCSPTLCK = 1074025521, TIOCGPTN = 2147767344, TIOCGPTLCK = 2147767353, TIOCGEXCL = 2147767360, TIOCEXCL = 21516, TIOCNXCL = 21517, TIOCNOTTY = 21538, TIOCOUTQ = 21521, TIOCSTI = 21522, TIOCCONS = 21533, FIONREAD = 21531, FIONBIO = 21537, FIOASYNC = 21586, FIOCLEX = 21585, FIONCLEX = 21584, SIOCGIFNAME = 35088, SIOCSIFLINK = 35089, SIOCGIFCONF = 35090, SIOCGIFFLAGS = 35091, SIOCSIFFLAGS = 35092, SIOCGIFADDR = 35093, SIOCSIFADDR = 35094, SIOCGIFDSTADDR = 35095, SIOCSIFDSTADDR = 35096, SIOCGIFBRDADDR = 35097, SIOCSIFBRDADDR = 35098, SIOCGIFNETMASK = 35099, SIOCSIFNETMASK = 35100, SIOCGIFMETRIC = 35101, SIOCSIFMETRIC = 35102, SIOCGIFMEM = 35103, SIOCSIFMEM = 35104, SIOCGIFMTU = 35105, SIOCSIFMTU = 35106, SIOCSIFNAME = 35107, SIOCSIFHWADDR = 35108, SIOCGIFHWADDR = 35111, SIOCGIFINDEX = 35123, SIOCSIFHWBROADCAST = 35127, SIOCGIFBR = 35136, SIOCSIFBR = 35137, SIOCGIFTXQLEN = 35138, SIOCSIFTXQLEN = 35139, SIOCGIFMAP = 35184 };
enum locale_category { LC_CTYPE = 0, LC_NUMERIC = 1, LC_TIME = 2, LC_COLLATE = 3, LC_MONETARY = 4, LC_MESSAGES = 5, LC_ALL = 6, LC_PAPER = 7, LC_NAME = 8, LC_ADDRESS = 9, LC_TELEPHONE = 10, LC_MEASUREMENT = 11, LC_IDENTIFICATION = 12 };
enum lockf_command { F_ULOCK = 0, F_LOCK = 1, F_TLOCK = 2, F_TEST = 3 };
enum madvise_advice { MADV_NORMAL = 0, MADV_RANDOM = 1, MADV_SEQUENTIAL = 2, MADV_WILLNEED = 3, MADV_DONTNEED = 4, MADV_FREE = 8, MADV_REMOVE = 9, MADV_DONTFORK = 10, MADV_DOFORK = 11, MADV_MERGEABLE = 12, MADV_UNMERGEABLE = 13, MADV_HUGEPAGE = 14, MADV_NOHUGEPAGE = 15, MADV_DONTDUMP = 16, MADV_DODUMP = 17, MADV_WIPEONFORK = 18, MADV_KEEPONFORK = 19, MADV_COLD = 20, MADV_PAGEOUT = 21, MADV_POPULATE_READ = 22, MADV_POPULATE_WRITE = 23, MADV_DONTNEED_LOCKED = 24, MADV_HWPOISON = 100 };
enum mcheck_status { MCHECK_DISABLED = -1, MCHECK_OK = 0, MCHECK_FREE = 1, MCHECK_HEAD = 2, MCHECK_TAIL = 3 };
enum pathconf_name { _PC_LINK_MAX = 0, _PC_MAX_CANON = 1, _PC_MAX_INPUT = 2, _PC_NAME_MAX = 3, _PC_PATH_MAX = 4, _PC_PIPE_BUF = 5, _PC_CHOWN_RESTRICTED = 6, _PC_NO_TRUNC = 7, _PC_VDISABLE = 8, _PC_SYNC_IO = 9, _PC_ASYNC_IO = 10, _PC_PRIO_IO = 11, _PC_SOCK_MAXBUF = 12, _PC_FILESIZEBITS = 13, _PC_REC_INCR_XFER_SIZE = 14, _PC_REC_MAX_XFER_SIZE = 15, _PC_REC_MIN_XFER_SIZE = 16, _PC_REC_XFER_ALIGN = 17, _PC_ALLOC_SIZE_MIN = 18, _PC_SYMLINK_MAX = 19, _PC_2_SYMLINKS = 20 };
enum posix_madvise_advice { POSIX_MADV_NORMAL = 0, POSIX_MADV_RANDOM = 1, POSIX_MADV_SEQUENTIAL = 2, POSIX_MADV_WILLNEED = 3, POSIX_MADV_DONTNEED = 4 };
enum prctl_option { PR_SET_PDEATHSIG = 1, PR_GET_PDEATHSIG = 2, PR_GET_DUMPABLE = 3, PR_SET_DUMPABLE = 4, PR_GET_UNALIGN = 5, PR_SET_UNALIGN = 6, PR_GET_KEEPCAPS = 7, PR_SET_KEEPCAPS = 8, PR_GET_FPEMU = 9, PR_SET_FPEMU = 10, PR_GET_FPEXC = 11, PR_SET_FPEXC = 12, PR_GET_TIMING = 13, PR_SET_TIMING = 14, PR_SET_NAME = 15, PR_GET_NAME = 16, PR_GET_ENDIAN = 19, PR_SET_ENDIAN = 20, PR_GET_SECCOMP = 21, PR_SET_SECCOMP = 22, PR_GET_TSC = 25, PR_SET_TSC = 26, PR_GET_SECUREBITS = 27, PR_SET_SECUREBITS = 28, PR_SET_TIMERSLACK = 29, PR_GET_TIMERSLACK = 30, PR_SET_MM = 35, PR_SET_CHILD_SUBREAPER = 36, PR_GET_CHILD_SUBREAPER = 37, PR_SET_NO_NEW_PRIVS = 38, PR_GET_NO_NEW_PRIVS = 39, PR_GET_TID_ADDRESS = 40, PR_SET_THP_DISABLE = 41, PR_GET_THP_DISABLE = 42, PR_SET_FP_MODE = 45, PR_GET_FP_MODE = 46, PR_GET_SPECULATION_CTRL = 52, PR_SET_SPECULATION_CTRL = 53, PR_SET_TAGGED_ADDR_CTRL = 55, PR_GET_TAGGED_ADDR_CTRL = 56, PR_SET_IO_FLUSHER = 57, PR_GET_IO_FLUSHER = 58, PR_SET_SYSCALL_USER_DISPATCH = 59, PR_SET_VMA = 1398164801, PR_SET_PTRACER = 1499557217, PR_CAPBSET_READ = 23, PR_CAPBSET_DROP = 24, PR_CAP_AMBIENT = 47, PR_MCE_KILL = 33, PR_MCE_KILL_GET = 34, PR_TASK_PERF_EVENTS_DISABLE = 31, PR_TASK_PERF_EVENTS_ENABLE = 32, PR_SCHED_CORE = 62, PR_PAC_RESET_KEYS = 54, PR_PAC_SET_ENABLED_KEYS = 60, PR_PAC_GET_ENABLED_KEYS = 61, PR_SVE_SET_VL = 50, PR_SVE_GET_VL = 51, PR_SME_SET_VL = 63, PR_SME_GET_VL = 64 };
enum resource_limit { RLIMIT_CPU = 0, RLIMIT_FSIZE = 1, RLIMIT_DATA = 2, RLIMIT_STACK = 3, RLIMIT_CORE = 4, RLIMIT_RSS = 5, RLIMIT_NPROC = 6, RLIMIT_NOFILE = 7, RLIMIT_MEMLOCK = 8, RLIMIT_AS = 9, RLIMIT_LOCKS = 10, RLIMIT_SIGPENDING = 11, RLIMIT_MSGQUEUE = 12, RLIMIT_NICE = 13, RLIMIT_RTPRIO = 14, RLIMIT_RTTIME = 15 };
enum shutdown_how { SHUT_RD = 0, SHUT_WR = 1, SHUT_RDWR = 2 };
enum signal_number { SIGHUP = 1, SIGINT = 2, SIGQUIT = 3, SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGBUS = 7, SIGFPE = 8, SIGKILL = 9, SIGUSR1 = 10, SIGSEGV = 11, SIGUSR2 = 12, SIGPIPE = 13, SIGALRM = 14, SIGTERM = 15, SIGSTKFLT = 16, SIGCHLD = 17, SIGCONT = 18, SIGSTOP = 19, SIGTSTP = 20, SIGTTIN = 21, SIGTTOU = 22, SIGURG = 23, SIGXCPU = 24, SIGXFSZ = 25, SIGVTALRM = 26, SIGPROF = 27, SIGWINCH = 28, SIGIO = 29, SIGPWR = 30, SIGSYS = 31 };
enum sigprocmask_how { SIG_BLOCK = 0, SIG_SETMASK = 2, SIG_UNBLOCK = 1 };
enum socket_level { SOL_IP = 0, SOL_SOCKET = 1, SOL_IPV6 = 41, SOL_ICMPV6 = 58, SOL_RAW = 255, SOL_DECNET = 261, SOL_X25 = 262, SOL_PACKET = 263, SOL_ATM = 264, SOL_AAL = 265, SOL_IRDA = 266, SOL_NETBEUI = 267, SOL_LLC = 268, SOL_DCCP = 269, SOL_NETLINK = 270, SOL_TIPC = 271, SOL_RXRPC = 272, SOL_PPPOL2TP = 273, SOL_BLUETOOTH = 274, SOL_PNPIPE = 275, SOL_RDS = 276, SOL_IUCV = 277, SOL_CAIF = 278, SOL_ALG = 279, SOL_NFC = 280, SOL_KCM = 281, SOL_TLS = 282, SOL_XDP = 283, SOL_MPTCP = 284, SOL_MCTP = 285, SOL_SMC = 286 };
enum syscall_number : long { SYS_read = 0, SYS_write = 1, SYS_open = 2, SYS_close = 3, SYS_stat = 4, SYS_fstat = 5, SYS_lstat = 6, SYS_poll = 7, SYS_lseek = 8, SYS_mmap = 9, SYS_mprotect = 10, SYS_munmap = 11, SYS_brk = 12, SYS_rt_sigaction = 13, SYS_rt_sigprocmask = 14, SYS_rt_sigreturn = 15, SYS_ioctl = 16, SYS_pread64 = 17, SYS_pwrite64 = 18, SYS_readv = 19, SYS_writev = 20, SYS_access = 21, SYS_pipe = 22, SYS_select = 23, SYS_sched_yield = 24, SYS_mremap = 25, SYS_msync = 26, SYS_mincore = 27, SYS_madvise = 28, SYS_shmget = 29, SYS_shmat = 30, SYS_shmctl = 31, SYS_dup = 32, SYS_dup2 = 33, SYS_pause = 34, SYS_nanosleep = 35, SYS_getitimer = 36, SYS_alarm = 37, SYS_setitimer = 38, SYS_getpid = 39, SYS_sendfile = 40, SYS_socket = 41, SYS_connect = 42, SYS_accept = 43, SYS_sendto = 44, SYS_recvfrom = 45, SYS_sendmsg = 46, SYS_recvmsg = 47, SYS_shutdown = 48, SYS_bind = 49, SYS_listen = 50, SYS_getsockname = 51, SYS_getpeername = 52, SYS_socketpair = 53, SYS_setsockopt = 54, SYS_getsockopt = 55, SYS_clone = 56, SYS_fork = 57, SYS_vfork = 58, SYS_execve = 59, SYS_exit = 60, SYS_wait4 = 61, SYS_kill = 62, SYS_uname = 63, SYS_semget = 64, SYS_semop = 65, SYS_semctl = 66, SYS_shmdt = 67, SYS_msgget = 68, SYS_msgsnd = 69, SYS_msgrcv = 70, SYS_msgctl = 71, SYS_fcntl = 72, SYS_flock = 73, SYS_fsync = 74, SYS_fdatasync = 75, SYS_truncate = 76, SYS_ftruncate = 77, SYS_getdents = 78, SYS_getcwd = 79, SYS_chdir = 80, SYS_fchdir = 81, SYS_rename = 82, SYS_mkdir = 83, SYS_rmdir = 84, SYS_creat = 85, SYS_link = 86, SYS_unlink = 87, SYS_symlink = 88, SYS_readlink = 89, SYS_chmod = 90, SYS_fchmod = 91, SYS_chown = 92, SYS_fchown = 93, SYS_lchown = 94, SYS_umask = 95, SYS_gettimeofday = 96, SYS_getrlimit = 97, SYS_getrusage = 98, SYS_sysinfo = 99, SYS_times = 100, SYS_ptrace = 101, SYS_getuid = 102, SYS_syslog = 103, SYS_getgid = 104, SYS_setuid = 105, SYS_setgid = 106, SYS_geteuid = 107, SYS_getegid = 108, SYS_setpgid = 109, SYS_getppid = 110, SYS_getpgrp = 111, SYS_setsid = 112, SYS_setreuid = 113, SYS_setregid = 114, SYS_getgroups = 115, SYS_setgroups = 116, SYS_setresuid = 117, SYS_getresuid = 118, SYS_setresgid = 119, SYS_getresgid = 120, SYS_getpgid = 121, SYS_setfsuid = 122, SYS_setfsgid = 123, SYS_getsid = 124, SYS_capget = 125, SYS_capset = 126, SYS_rt_sigpending = 127, SYS_rt_sigtimedwait = 128, SYS_rt_sigqueueinfo = 129, SYS_rt_sigsuspend = 130, SYS_sigaltstack = 131, SYS_utime = 132, SYS_mknod = 133, SYS_uselib = 134, SYS_personality = 135, SYS_ustat = 136, SYS_statfs = 137, SYS_fstatfs = 138, SYS_sysfs = 139, SYS_getpriority = 140, SYS_setpriority = 141, SYS_sched_setparam = 142, SYS_sched_getparam = 143, SYS_sched_setscheduler = 144, SYS_sched_getscheduler = 145, SYS_sched_get_priority_max = 146, SYS_sched_get_priority_min = 147, SYS_sched_rr_get_interval = 148, SYS_mlock = 149, SYS_munlock = 150, SYS_mlockall = 151, SYS_munlockall = 152, SYS_vhangup = 153, SYS_modify_ldt = 154, SYS_pivot_root = 155, SYS__sysctl = 156, SYS_prctl = 157, SYS_arch_prctl = 158, SYS_adjtimex = 159, SYS_setrlimit = 160, SYS_chroot = 161, SYS_sync = 162, SYS_acct = 163, SYS_settimeofday = 164, SYS_mount = 165, SYS_umount2 = 166, SYS_swapon = 167, SYS_swapoff = 168, SYS_reboot = 169, SYS_sethostname = 170, SYS_setdomainname = 171, SYS_iopl = 172, SYS_ioperm = 173, SYS_create_module = 174, SYS_init_module = 175, SYS_delete_module = 176, SYS_get_kernel_syms = 177, SYS_query_module = 178, SYS_quotactl = 179, SYS_nfsservctl = 180, SYS_getpmsg = 181, SYS_putpmsg = 182, SYS_afs_syscall = 183, SYS_tuxcall = 184, SYS_security = 185, SYS_gettid = 186, SYS_readahead = 187, SYS_setxattr = 188, SYS_lsetxattr = 189, SYS_fsetxattr = 190, SYS_getxattr = 191, SYS_lgetxattr = 192, SYS_fgetxattr = 193, SYS_listxattr = 194, SYS_llistxattr = 195, SYS_flistxattr = 196, SYS_removexattr = 197, SYS_lremovexattr = 198, SYS_fremovexattr = 199, SYS_tkill = 200, SYS_time = 201, SYS_futex = 202, SYS_sched_setaffinity = 203, SYS_sched_getaffinity = 204, SYS_set_thread_area = 205, SYS_io_setup = 206, SYS_io_destroy = 207, SYS_io_getevents = 208, SYS_io_submit = 209, SYS_io_cancel = 210, SYS_get_thread_area = 211, SYS_lookup_dcookie = 212, SYS_epoll_create = 213, SYS_epoll_ctl_old = 214, SYS_epoll_wait_old = 215, SYS_remap_file_pages = 216, SYS_getdents64 = 217, SYS_set_tid_address = 218, SYS_restart_syscall = 219, SYS_semtimedop = 220, SYS_fadvise64 = 221, SYS_timer_create = 222, SYS_timer_settime = 223, SYS_timer_gettime = 224, SYS_timer_getoverrun = 225, SYS_timer_delete = 226, SYS_clock_settime = 227, SYS_clock_gettime = 228, SYS_clock_getres = 229, SYS_clock_nanosleep = 230, SYS_exit_group = 231, SYS_epoll_wait = 232, SYS_epoll_ctl = 233, SYS_tgkill = 234, SYS_utimes = 235, SYS_vserver = 236, SYS_mbind = 237, SYS_set_mempolicy = 238, SYS_get_mempolicy = 239, SYS_mq_open = 240, SYS_mq_unlink = 241, SYS_mq_timedsend = 242, SYS_mq_timedreceive = 243, SYS_mq_notify = 244, SYS_mq_getsetattr = 245, SYS_kexec_load = 246, SYS_waitid = 247, SYS_add_key = 248, SYS_request_key = 249, SYS_keyctl = 250, SYS_ioprio_set = 251, SYS_ioprio_get = 252, SYS_inotify_init = 253, SYS_inotify_add_watch = 254, SYS_inotify_rm_watch = 255, SYS_migrate_pages = 256, SYS_openat = 257, SYS_mkdirat = 258, SYS_mknodat = 259, SYS_fchownat = 260, SYS_futimesat = 261, SYS_newfstatat = 262, SYS_unlinkat = 263, SYS_renameat = 264, SYS_linkat = 265, SYS_symlinkat = 266, SYS_readlinkat = 267, SYS_fchmodat = 268, SYS_faccessat = 269, SYS_pselect6 = 270, SYS_ppoll = 271, SYS_unshare = 272, SYS_set_robust_list = 273, SYS_get_robust_list = 274, SYS_splice = 275, SYS_tee = 276, SYS_sync_file_range = 277, SYS_vmsplice = 278, SYS_move_pages = 279, SYS_utimensat = 280, SYS_epoll_pwait = 281, SYS_signalfd = 282, SYS_timerfd_create = 283, SYS_eventfd = 284, SYS_fallocate = 285, SYS_timerfd_settime = 286, SYS_timerfd_gettime = 287, SYS_accept4 = 288, SYS_signalfd4 = 289, SYS_eventfd2 = 290, SYS_epoll_create1 = 291, SYS_dup3 = 292, SYS_pipe2 = 293, SYS_inotify_init1 = 294, SYS_preadv = 295, SYS_pwritev = 296, SYS_rt_tgsigqueueinfo = 297, SYS_perf_event_open = 298, SYS_recvmmsg = 299, SYS_fanotify_init = 300, SYS_fanotify_mark = 301, SYS_prlimit64 = 302, SYS_name_to_handle_at = 303, SYS_open_by_handle_at = 304, SYS_clock_adjtime = 305, SYS_syncfs = 306, SYS_sendmmsg = 307, SYS_setns = 308, SYS_getcpu = 309, SYS_process_vm_readv = 310, SYS_process_vm_writev = 311, SYS_kcmp = 312, SYS_finit_module = 313, SYS_sched_setattr = 314, SYS_sched_getattr = 315, SYS_renameat2 = 316, SYS_seccomp = 317, SYS_getrandom = 318, SYS_memfd_create = 319, SYS_kexec_file_load = 320, SYS_bpf = 321, SYS_execveat = 322, SYS_userfaultfd = 323, SYS_membarrier = 324, SYS_mlock2 = 325, SYS_copy_file_range = 326, SYS_preadv2 = 327, SYS_pwritev2 = 328, SYS_pkey_mprotect = 329, SYS_pkey_alloc = 330, SYS_pkey_free = 331, SYS_statx = 332, SYS_io_pgetevents = 333, SYS_rseq = 334, SYS_pidfd_send_signal = 424, SYS_io_uring_setup = 425, SYS_io_uring_enter = 426, SYS_io_uring_register = 427, SYS_open_tree = 428, SYS_move_mount = 429, SYS_fsopen = 430, SYS_fsconfig = 431, SYS_fsmount = 432, SYS_fspick = 433, SYS_pidfd_open = 434, SYS_clone3 = 435, SYS_close_range = 436, SYS_openat2 = 437, SYS_pidfd_getfd = 438, SYS_faccessat2 = 439, SYS_process_madvise = 440, SYS_epoll_pwait2 = 441, SYS_mount_setattr = 442, SYS_quotactl_fd = 443, SYS_landlock_create_ruleset = 444, SYS_landlock_add_rule = 445, SYS_landlock_restrict_self = 446, SYS_memfd_secret = 447, SYS_process_mrelease = 448, SYS_futex_waitv = 449, SYS_set_mempolicy_home_node = 450 };
enum sysconf_name { _SC_ARG_MAX = 0, _SC_CHILD_MAX = 1, _SC_CLK_TCK = 2, _SC_NGROUPS_MAX = 3, _SC_OPEN_MAX = 4, _SC_STREAM_MAX = 5, _SC_TZNAME_MAX = 6, _SC_JOB_CONTROL = 7, _SC_SAVED_IDS = 8, _SC_REALTIME_SIGNALS = 9, _SC_PRIORITY_SCHEDULING = 10, _SC_TIMERS = 11, _SC_ASYNCHRONOUS_IO = 12, _SC_PRIORITIZED_IO = 13, _SC_SYNCHRONIZED_IO = 14, _SC_FSYNC = 15, _SC_MAPPED_FILES = 16, _SC_MEMLOCK = 17, _SC_MEMLOCK_RANGE = 18, _SC_MEMORY_PROTECTION = 19, _SC_MESSAGE_PASSING = 20, _SC_SEMAPHORES = 21, _SC_SHARED_MEMORY_OBJECTS = 22, _SC_AIO_LISTIO_MAX = 23, _SC_AIO_MAX = 24, _SC_AIO_PRIO_DELTA_MAX = 25, _SC_DELAYTIMER_MAX = 26, _SC_MQ_OPEN_MAX = 27, _SC_MQ_PRIO_MAX = 28, _SC_VERSION = 29, _SC_PAGESIZE = 30, _SC_RTSIG_MAX = 31, _SC_SEM_NSEMS_MAX = 32, _SC_SEM_VALUE_MAX = 33, _SC_SIGQUEUE_MAX = 34, _SC_TIMER_MAX = 35, _SC_BC_BASE_MAX = 36, _SC_BC_DIM_MAX = 37, _SC_BC_SCALE_MAX = 38, _SC_BC_STRING_MAX = 39, _SC_COLL_WEIGHTS_MAX = 40, _SC_EQUIV_CLASS_MAX = 41, _SC_EXPR_NEST_MAX = 42, _SC_LINE_MAX = 43, _SC_RE_DUP_MAX = 44, _SC_CHARCLASS_NAME_MAX = 45, _SC_2_VERSION = 46, _SC_2_C_BIND = 47, _SC_2_C_DEV = 48, _SC_2_FORT_DEV = 49, _SC_2_FORT_RUN = 50, _SC_2_SW_DEV = 51, _SC_2_LOCALEDEF = 52, _SC_PII = 53, _SC_PII_XTI = 54, _SC_PII_SOCKET = 55, _SC_PII_INTERNET = 56, _SC_PII_OSI = 57, _SC_POLL = 58, _SC_SELECT = 59, _SC_IOV_MAX = 60, _SC_PII_INTERNET_STREAM = 61, _SC_PII_INTERNET_DGRAM = 62, _SC_PII_OSI_COTS = 63, _SC_PII_OSI_CLTS = 64, _SC_PII_OSI_M = 65, _SC_T_IOV_MAX = 66, _SC_THREADS = 67, _SC_THREAD_SAFE_FUNCTIONS = 68, _SC_GETGR_R_SIZE_MAX = 69, _SC_GETPW_R_SIZE_MAX = 70, _SC_LOGIN_NAME_MAX = 71, _SC_TTY_NAME_MAX = 72, _SC_THREAD_DESTRUCTOR_ITERATIONS = 73, _SC_THREAD_KEYS_MAX = 74, _SC_THREAD_STACK_MIN = 75, _SC_THREAD_THREADS_MAX = 76, _SC_THREAD_ATTR_STACKADDR = 77, _SC_THREAD_ATTR_STACKSIZE = 78, _SC_THREAD_PRIORITY_SCHEDULING = 79, _SC_THREAD_PRIO_INHERIT = 80, _SC_THREAD_PRIO_PROTECT = 81, _SC_THREAD_PROCESS_SHARED = 82, _SC_NPROCESSORS_CONF = 83, _SC_NPROCESSORS_ONLN = 84, _SC_PHYS_PAGES = 85, _SC_AVPHYS_PAGES = 86, _SC_ATEXIT_MAX = 87, _SC_PASS_MAX = 88, _SC_XOPEN_VERSION = 89, _SC_XOPEN_XCU_VERSION = 90, _SC_XOPEN_UNIX = 91, _SC_XOPEN_CRYPT = 92, _SC_XOPEN_ENH_I18N = 93, _SC_XOPEN_SHM = 94, _SC_2_CHAR_TERM = 95, _SC_2_C_VERSION = 96, _SC_2_UPE = 97, _SC_XOPEN_XPG2 = 98, _SC_XOPEN_XPG3 = 99, _SC_XOPEN_XPG4 = 100, _SC_CHAR_BIT = 101, _SC_CHAR_MAX = 102, _SC_CHAR_MIN = 103, _SC_INT_MAX = 104, _SC_INT_MIN = 105, _SC_LONG_BIT = 106, _SC_WORD_BIT = 107, _SC_MB_LEN_MAX = 108, _SC_NZERO = 109, _SC_SSIZE_MAX = 110, _SC_SCHAR_MAX = 111, _SC_SCHAR_MIN = 112, _SC_SHRT_MAX = 113, _SC_SHRT_MIN = 114, _SC_UCHAR_MAX = 115, _SC_UINT_MAX = 116, _SC_ULONG_MAX = 117, _SC_USHRT_MAX = 118, _SC_NL_ARGMAX = 119, _SC_NL_LANGMAX = 120, _SC_NL_MSGMAX = 121, _SC_NL_NMAX = 122, _SC_NL_SETMAX = 123, _SC_NL_TEXTMAX = 124, _SC_XBS5_ILP32_OFF32 = 125, _SC_XBS5_ILP32_OFFBIG = 126, _SC_XBS5_LP64_OFF64 = 127, _SC_XBS5_LPBIG_OFFBIG = 128, _SC_XOPEN_LEGACY = 129, _SC_XOPEN_REALTIME = 130, _SC_XOPEN_REALTIME_THREADS = 131, _SC_ADVISORY_INFO = 132, _SC_BARRIERS = 133, _SC_BASE = 134, _SC_C_LANG_SUPPORT = 135, _SC_C_LANG_SUPPORT_R = 136, _SC_CLOCK_SELECTION = 137, _SC_CPUTIME = 138, _SC_THREAD_CPUTIME = 139, _SC_DEVICE_IO = 140, _SC_DEVICE_SPECIFIC = 141, _SC_DEVICE_SPECIFIC_R = 142, _SC_FD_MGMT = 143, _SC_FIFO = 144, _SC_PIPE = 145, _SC_FILE_ATTRIBUTES = 146, _SC_FILE_LOCKING = 147, _SC_FILE_SYSTEM = 148, _SC_MONOTONIC_CLOCK = 149, _SC_MULTI_PROCESS = 150, _SC_SINGLE_PROCESS = 151, _SC_NETWORKING = 152, _SC_READER_WRITER_LOCKS = 153, _SC_SPIN_LOCKS = 154, _SC_REGEXP = 155, _SC_REGEX_VERSION = 156, _SC_SHELL = 157, _SC_SIGNALS = 158, _SC_SPAWN = 159, _SC_SPORADIC_SERVER = 160, _SC_THREAD_SPORADIC_SERVER = 161, _SC_SYSTEM_DATABASE = 162, _SC_SYSTEM_DATABASE_R = 163, _SC_TIMEOUTS = 164, _SC_TYPED_MEMORY_OBJECTS = 165, _SC_USER_GROUPS = 166, _SC_USER_GROUPS_R = 167, _SC_2_PBS = 168, _SC_2_PBS_ACCOUNTING = 169, _SC_2_PBS_LOCATE = 170, _SC_2_PBS_MESSAGE = 171, _SC_2_PBS_TRACK = 172, _SC_SYMLOOP_MAX = 173, _SC_STREAMS = 174, _SC_2_PBS_CHECKPOINT = 175, _SC_V6_ILP32_OFF32 = 176, _SC_V6_ILP32_OFFBIG = 177, _SC_V6_LP64_OFF64 = 178, _SC_V6_LPBIG_OFFBIG = 179, _SC_HOST_NAME_MAX = 180, _SC_TRACE = 181, _SC_TRACE_EVENT_FILTER = 182, _SC_TRACE_INHERIT = 183, _SC_TRACE_LOG = 184, _SC_LEVEL1_ICACHE_SIZE = 185, _SC_LEVEL1_ICACHE_ASSOC = 186, _SC_LEVEL1_ICACHE_LINESIZE = 187, _SC_LEVEL1_DCACHE_SIZE = 188, _SC_LEVEL1_DCACHE_ASSOC = 189, _SC_LEVEL1_DCACHE_LINESIZE = 190, _SC_LEVEL2_CACHE_SIZE = 191, _SC_LEVEL2_CACHE_ASSOC = 192, _SC_LEVEL2_CACHE_LINESIZE = 193, _SC_LEVEL3_CACHE_SIZE = 194, _SC_LEVEL3_CACHE_ASSOC = 195, _SC_LEVEL3_CACHE_LINESIZE = 196, _SC_LEVEL4_CACHE_SIZE = 197, _SC_LEVEL4_CACHE_ASSOC = 198, _SC_LEVEL4_CACHE_LINESIZE = 199, _SC_IPV6 = 235, _SC_RAW_SOCKETS = 236, _SC_V7_ILP32_OFF32 = 237, _SC_V7_ILP32_OFFBIG = 238, _SC_V7_LP64_OFF64 = 239, _SC_V7_LPBIG_OFFBIG = 240, _SC_SS_REPL_MAX = 241, _SC_TRACE_EVENT_NAME_MAX = 242, _SC_TRACE_NAME_MAX = 243, _SC_TRACE_SYS_MAX = 244, _SC_TRACE_USER_EVENT_MAX = 245, _SC_XOPEN_STREAMS = 246, _SC_THREAD_ROBUST_PRIO_INHERIT = 247, _SC_THREAD_ROBUST_PRIO_PROTECT = 248, _SC_MINSIGSTKSZ = 249, _SC_SIGSTKSZ = 250 };
enum terminal_actions { TCSANOW = 0, TCSADRAIN = 1, TCSAFLUSH = 2 };
enum terminal_queue { TCIFLUSH = 0, TCOFLUSH = 1, TCIOFLUSH = 2 };
enum whence { SEEK_SET = 0, SEEK_CUR = 1, SEEK_END = 2, SEEK_DATA = 3, SEEK_HOLE = 4 };
void _Exit(int status); // does not return
__pid_t _Fork(void);
size_t __argz_count(const char *argz, size_t len);
char *__argz_next(const char *argz, size_t argz_len, const char *entry);
void __argz_stringify(char *argz, size_t len, int sep);
int __asprintf(char **ptr, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __asprintf_chk(char **ptr, int flag, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void __assert(const char *assertion, const char *file, int line); // does not return
void __assert_fail(const char *assertion, const char *file, unsigned int line, const char *function); // does not return
void __assert_perror_fail(int errnum, const char *file, unsigned int line, const char *function); // does not return
struct cmsghdr *__cmsg_nxthdr(struct msghdr *mhdr, struct cmsghdr *cmsg);
size_t __confstr_chk(int name, char *buf, size_t len, size_t buflen);
const unsigned short **__ctype_b_loc(void);
size_t __ctype_get_mb_cur_max(void);
const __int32_t **__ctype_tolower_loc(void);
const __int32_t **__ctype_toupper_loc(void);
char *__dcgettext(const char *domainname, const char *msgid, int category);
char *__dgettext(const char *domainname, const char *msgid);
int __dprintf_chk(int fd, int flag, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int *__errno_location(void);
void __explicit_bzero_chk(void *dest, size_t len, size_t destlen);
long __fdelt_chk(long d);
char *__fgets_chk(char *s, size_t size, int n, FILE *stream);
char *__fgets_unlocked_chk(char *s, size_t size, int n, FILE *stream);
wchar_t *__fgetws_chk(wchar_t *s, size_t size, int n, __FILE *stream);
wchar_t *__fgetws_unlocked_chk(wchar_t *s, size_t size, int n, __FILE *stream);
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
size_t __fread_chk(void *ptr, size_t ptrlen, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *ptr, size_t ptrlen, size_t size, size_t n, FILE *stream);
int __fwprintf_chk(__FILE *stream, int flag, const wchar_t *format, ...);
char *__getcwd_chk(char *buf, size_t size, size_t buflen);
__ssize_t __getdelim(char **lineptr, size_t *n, int delimiter, FILE *stream);
int __getdomainname_chk(char *buf, size_t buflen, size_t nreal);
int __getgroups_chk(int size, __gid_t *list, size_t listlen);
int __gethostname_chk(char *buf, size_t buflen, size_t nreal);
int __getlogin_r_chk(char *buf, size_t buflen, size_t nreal);
int __getpagesize(void);
__pid_t __getpgid(__pid_t pid);
char *__getwd_chk(char *buf, size_t buflen);
int *__h_errno_location(void);
int __libc_current_sigrtmax(void);
int __libc_current_sigrtmin(void);
size_t __mbrlen(const char *s, size_t n, mbstate_t *ps);
size_t __mbsnrtowcs_chk(wchar_t *dst, const char **src, size_t nmc, size_t len, mbstate_t *ps, size_t dstlen);
size_t __mbsrtowcs_chk(wchar_t *dst, const char **src, size_t len, mbstate_t *ps, size_t dstlen);
size_t __mbstowcs_chk(wchar_t *dst, const char *src, size_t len, size_t dstlen);
int __memcmpeq(const void *s1, const void *s2, size_t n);
void *__mempcpy(void *dest, const void *src, size_t n);
int __obstack_printf_chk(struct obstack *obstack, int flag, const char *format, ...) __attribute__((format(printf, 3, 4)));
int __obstack_vprintf_chk(struct obstack *obstack, int flag, const char *format, struct __va_list_tag *args);
int __overflow(FILE *arg1, int arg2);
int __poll_chk(struct pollfd *fds, nfds_t nfds, int timeout, unsigned long fdslen);
int __ppoll_chk(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout, const __sigset_t *ss, unsigned long fdslen);
ssize_t __pread64_chk(int fd, void *buf, size_t nbytes, __off64_t offset, size_t bufsize);
ssize_t __pread_chk(int fd, void *buf, size_t nbytes, __off_t offset, size_t bufsize);
int __printf_chk(int flag, const char *format, ...);
void __pthread_register_cancel(__pthread_unwind_buf_t *buf);
void __pthread_register_cancel_defer(__pthread_unwind_buf_t *buf);
void __pthread_unregister_cancel(__pthread_unwind_buf_t *buf);
void __pthread_unregister_cancel_restore(__pthread_unwind_buf_t *buf);
void __pthread_unwind_next(__pthread_unwind_buf_t *buf); // does not return
int __ptsname_r_chk(int fd, char *buf, size_t buflen, size_t nreal);
ssize_t __read_chk(int fd, void *buf, size_t nbytes, size_t buflen);
ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t buflen);
ssize_t __readlinkat_chk(int fd, const char *path, char *buf, size_t len, size_t buflen);
char *__realpath_chk(const char *name, char *resolved, size_t resolvedlen);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t buflen, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t buflen, int flags, struct sockaddr *addr, socklen_t *addr_len);
int __res_init(void);
void __res_nclose(res_state arg1);
int __res_ninit(res_state arg1);
unsigned int __res_randomid(void);
struct __res_state *__res_state(void);
cpu_set_t *__sched_cpualloc(size_t count);
int __sched_cpucount(size_t setsize, const cpu_set_t *setp);
void __sched_cpufree(cpu_set_t *set);
int __sigsetjmp(struct __jmp_buf_tag *env, int savemask);
int __snprintf_chk(char *s, size_t n, int flag, size_t slen, const char *format, ...);
int __sprintf_chk(char *s, int flag, size_t slen, const char *format, ...);
char *__stpcpy(char *dest, const char *src);
char *__stpncpy(char *dest, const char *src, size_t n);
char *__strtok_r(char *s, const char *delim, char **save_ptr);
int __swprintf_chk(wchar_t *s, size_t n, int flag, size_t s_len, const wchar_t *format, ...);
long __sysconf(int name);
void __syslog_chk(int pri, int flag, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
__sighandler_t __sysv_signal(int sig, __sighandler_t handler);
int __tolower_l(int c, locale_t l);
int __toupper_l(int c, locale_t l);
int __ttyname_r_chk(int fd, char *buf, size_t buflen, size_t nreal);
int __uflow(FILE *arg1);
int __vasprintf_chk(char **ptr, int flag, const char *fmt, struct __va_list_tag *arg);
int __vdprintf_chk(int fd, int flag, const char *fmt, struct __va_list_tag *arg);
int __vfprintf_chk(FILE *stream, int flag, const char *format, struct __va_list_tag *ap);
int __vfwprintf_chk(__FILE *stream, int flag, const wchar_t *format, struct __va_list_tag *ap);
int __vprintf_chk(int flag, const char *format, struct __va_list_tag *ap);
int __vsnprintf_chk(char *s, size_t n, int flag, size_t slen, const char *format, struct __va_list_tag *ap);
int __vsprintf_chk(char *s, int flag, size_t slen, const char *format, struct __va_list_tag *ap);
int __vswprintf_chk(wchar_t *s, size_t n, int flag, size_t s_len, const wchar_t *format, struct __va_list_tag *arg);
void __vsyslog_chk(int pri, int flag, const char *fmt, struct __va_list_tag *ap);
int __vwprintf_chk(int flag, const wchar_t *format, struct __va_list_tag *ap);
wchar_t *__wcpcpy_chk(wchar_t *dest, const wchar_t *src, size_t destlen);
wchar_t *__wcpncpy_chk(wchar_t *dest, const wchar_t *src, size_t n, size_t destlen);
size_t __wcrtomb_chk(char *s, wchar_t wchar, mbstate_t *p, size_t buflen);
wchar_t *__wcscat_chk(wchar_t *dest, const wchar_t *src, size_t destlen);
wchar_t *__wcscpy_chk(wchar_t *dest, const wchar_t *src, size_t n);
wchar_t *__wcsncat_chk(wchar_t *dest, const wchar_t *src, size_t n, size_t destlen);
wchar_t *__wcsncpy_chk(wchar_t *dest, const wchar_t *src, size_t n, size_t destlen);
size_t __wcsnrtombs_chk(char *dst, const wchar_t **src, size_t nwc, size_t len, mbstate_t *ps, size_t dstlen);
size_t __wcsrtombs_chk(char *dst, const wchar_t **src, size_t len, mbstate_t *ps, size_t dstlen);
size_t __wcstombs_chk(char *dst, const wchar_t *src, size_t len, size_t dstlen);
int __wctomb_chk(char *s, wchar_t wchar, size_t buflen);
wchar_t *__wmemcpy_chk(wchar_t *s1, const wchar_t *s2, size_t n, size_t ns1);
wchar_t *__wmemmove_chk(wchar_t *s1, const wchar_t *s2, size_t n, size_t ns1);
wchar_t *__wmempcpy_chk(wchar_t *s1, const wchar_t *s2, size_t n, size_t ns1);
wchar_t *__wmemset_chk(wchar_t *s, wchar_t c, size_t n, size_t ns);
int __wprintf_chk(int flag, const wchar_t *format, ...);
char *__xpg_basename(char *path);
int _dl_find_object(void *address, struct dl_find_object *result);
void _dl_mcount_wrapper_check(void *selfpc);
void _exit(int status); // does not return
void _longjmp(struct __jmp_buf_tag *env, int val); // does not return
int _obstack_begin(struct obstack *arg1, int arg2, int arg3, void *(*arg4)(long), void (*arg5)(void *));
int _obstack_begin_1(struct obstack *arg1, int arg2, int arg3, void *(*arg4)(void *, long), void (*arg5)(void *, void *), void *arg6);
int _obstack_memory_used(struct obstack *arg1);
void _obstack_newchunk(struct obstack *arg1, int arg2);
int _setjmp(struct __jmp_buf_tag *env);
int _tolower(int arg1);
int _toupper(int arg1);
long a64l(const char *s);
void abort(void); // does not return
int abs(int x);
int accept(int fd, struct sockaddr *addr, socklen_t *addr_len); // errno
int accept4(int fd, struct sockaddr *addr, socklen_t *addr_len, enum accept_flags flags); // errno
int access(const char *name, enum access_mode type); // errno
int acct(const char *name); // errno
int addmntent(FILE *stream, const struct mntent *mnt);
int adjtime(const struct timeval *delta, struct timeval *olddelta); // errno
int adjtimex(struct timex *ntx); // errno
int aio_cancel(int fildes, struct aiocb *aiocbp);
int aio_cancel64(int fildes, struct aiocb64 *aiocbp);
int aio_error(const struct aiocb *aiocbp);
int aio_error64(const struct aiocb64 *aiocbp);
int aio_fsync(int operation, struct aiocb *aiocbp); // errno
int aio_fsync64(int operation, struct aiocb64 *aiocbp); // errno
void aio_init(const struct aioinit *init);
int aio_read(struct aiocb *aiocbp); // errno
int aio_read64(struct aiocb64 *aiocbp); // errno
__ssize_t aio_return(struct aiocb *aiocbp);
__ssize_t aio_return64(struct aiocb64 *aiocbp);
int aio_suspend(const struct aiocb *const *list, int nent, const struct timespec *timeout); // errno
int aio_suspend64(const struct aiocb64 *const *list, int nent, const struct timespec *timeout); // errno
int aio_write(struct aiocb *aiocbp); // errno
int aio_write64(struct aiocb64 *aiocbp); // errno
unsigned int alarm(unsigned int seconds);
void *aligned_alloc(size_t alignment, size_t size);
int alphasort(const struct dirent **e1, const struct dirent **e2);
int alphasort64(const struct dirent64 **e1, const struct dirent64 **e2);
__uint32_t arc4random(void);
void arc4random_buf(void *buf, size_t size);
__uint32_t arc4random_uniform(__uint32_t upper_bound);
void argp_error(const struct argp_state *state, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void argp_failure(const struct argp_state *state, int status, int errnum, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void argp_help(const struct argp *argp, FILE *stream, unsigned int flags, char *name);
error_t argp_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, int *arg_index, void *input);
void argp_state_help(const struct argp_state *state, FILE *stream, unsigned int flags);
void argp_usage(const struct argp_state *state);
error_t argz_add(char **argz, size_t *argz_len, const char *str);
error_t argz_add_sep(char **argz, size_t *argz_len, const char *string, int delim);
error_t argz_append(char **argz, size_t *argz_len, const char *buf, size_t buf_len);
size_t argz_count(const char *argz, size_t len);
error_t argz_create(char *const *argv, char **argz, size_t *len);
error_t argz_create_sep(const char *string, int sep, char **argz, size_t *len);
void argz_delete(char **argz, size_t *argz_len, char *entry);
void argz_extract(const char *argz, size_t len, char **argv);
error_t argz_insert(char **argz, size_t *argz_len, char *before, const char *entry);
char *argz_next(const char *argz, size_t argz_len, const char *entry);
error_t argz_replace(char **argz, size_t *argz_len, const char *str, const char *with, unsigned int *replace_count);
void argz_stringify(char *argz, size_t len, int sep);
char *asctime(const struct tm *tp); // errno
char *asctime_r(const struct tm *tp, char *buf); // errno
int asprintf(char **ptr, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
double atof(const char *nptr);
int atoi(const char *nptr);
long atol(const char *nptr);
long long atoll(const char *nptr);
int backtrace(void **array, int size);
char **backtrace_symbols(void *const *array, int size);
void backtrace_symbols_fd(void *const *array, int size, int fd);
char *basename(const char *filename);
int bcmp(const void *s1, const void *s2, size_t n);
void bcopy(const void *src, void *dest, size_t n);
int bind(int fd, const struct sockaddr *addr, socklen_t len); // errno
char *bind_textdomain_codeset(const char *domainname, const char *codeset);
int bindresvport(int sockfd, struct sockaddr_in *sock_in); // errno
char *bindtextdomain(const char *domainname, const char *dirname);
int brk(void *addr); // errno
void *bsearch(const void *key, const void *base, size_t nmemb, size_t size, __compar_fn_t compar);
wint_t btowc(int c);
void bzero(void *s, size_t n);
size_t c16rtomb(char *s, char16_t c16, mbstate_t *ps);
size_t c32rtomb(char *s, char32_t c32, mbstate_t *ps);
size_t c8rtomb(char *s, char8_t c8, mbstate_t *ps);
void call_once(once_flag *flag, void (*func)(void));
void *calloc(size_t nmemb, size_t size); // errno
char *canonicalize_file_name(const char *name); // errno
int catclose(nl_catd catalog); // errno
char *catgets(nl_catd catalog, int set, int number, const char *string);
nl_catd catopen(const char *cat_name, int flag); // errno
speed_t cfgetispeed(const struct termios *termios_p);
speed_t cfgetospeed(const struct termios *termios_p);
void cfmakeraw(struct termios *termios_p);
int cfsetispeed(struct termios *termios_p, speed_t speed); // errno
int cfsetospeed(struct termios *termios_p, speed_t speed); // errno
int cfsetspeed(struct termios *termios_p, speed_t speed); // errno
int chdir(const char *path); // errno
int chmod(const char *file, __mode_t mode); // errno
int chown(const char *file, __uid_t owner, __gid_t group); // errno
int chroot(const char *path); // errno
int clearenv(void);
void clearerr(FILE *stream);
void clearerr_unlocked(FILE *stream);
clock_t clock(void);
int clock_adjtime(__clockid_t clock_id, struct timex *utx); // errno
int clock_getcpuclockid(pid_t pid, clockid_t *clock_id); // error number
int clock_getres(enum clock clock_id, struct timespec *res); // errno
int clock_gettime(enum clock clock_id, struct timespec *tp); // errno
int clock_nanosleep(enum clock clock_id, enum timer_flags flags, const struct timespec *req, struct timespec *rem); // error number
int clock_settime(enum clock clock_id, const struct timespec *tp); // errno
int clone(int (*fn)(void *), void *child_stack, enum clone_flags flags, void *arg, ...); // errno
int close(int fd); // errno
int close_range(unsigned int fd, unsigned int max_fd, enum close_range_flags flags); // errno
int closedir(DIR *dirp); // errno
void closefrom(int lowfd);
void closelog(void);
int cnd_broadcast(cnd_t *cond);
void cnd_destroy(cnd_t *COND);
int cnd_init(cnd_t *cond);
int cnd_signal(cnd_t *cond);
int cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *time_point);
int cnd_wait(cnd_t *cond, mtx_t *mutex);
size_t confstr(int name, char *buf, size_t len);
int connect(int fd, const struct sockaddr *addr, socklen_t len); // errno
ssize_t copy_file_range(int infd, __off64_t *pinoff, int outfd, __off64_t *poutoff, size_t length, unsigned int flags); // errno
int creat(const char *file, mode_t mode); // errno
int creat64(const char *file, mode_t mode); // errno
char *ctermid(char *s);
char *ctime(const time_t *timer); // errno
char *ctime_r(const time_t *timer, char *buf); // errno
char *cuserid(char *s); // errno
int daemon(int nochdir, int noclose); // errno
char *dcgettext(const char *domainname, const char *msgid, int category);
char *dcngettext(const char *domainname, const char *msgid1, const char *msgid2, unsigned long n, int category);
char *dgettext(const char *domainname, const char *msgid);
double difftime(time_t time1, time_t time0);
int dirfd(DIR *dirp); // errno
char *dirname(char *path);
int dladdr(const void *address, Dl_info *info);
int dladdr1(const void *address, Dl_info *info, void **extra_info, int flags);
int dlclose(void *handle);
char *dlerror(void);
int dlinfo(void *handle, int request, void *arg);
void *dlmopen(Lmid_t nsid, const char *file, enum dlopen_mode mode);
void *dlopen(const char *file, enum dlopen_mode mode);
void *dlsym(void *handle, const char *name);
void *dlvsym(void *handle, const char *name, const char *version);
int dn_comp(const char *arg1, unsigned char *arg2, int arg3, unsigned char **arg4, unsigned char **arg5);
int dn_expand(const unsigned char *arg1, const unsigned char *arg2, const unsigned char *arg3, char *arg4, int arg5);
int dn_skipname(const unsigned char *arg1, const unsigned char *arg2);
char *dngettext(const char *domainname, const char *msgid1, const char *msgid2, unsigned long n);
int dprintf(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
double drand48(void);
int drand48_r(struct drand48_data *buffer, double *result);
int dup(int fd); // errno
int dup2(int fd, int fd2); // errno
int dup3(int fd, int fd2, enum descriptor_flags flags); // errno
locale_t duplocale(locale_t dataset);
int dysize(int year);
int eaccess(const char *name, enum access_mode type); // errno
char *ecvt(double value, int ndigit, int *decpt, int *sign);
int ecvt_r(double value, int ndigit, int *decpt, int *sign, char *buf, size_t len);
void endgrent(void);
void endhostent(void);
int endmntent(FILE *stream);
void endnetent(void);
void endnetgrent(void);
void endprotoent(void);
void endpwent(void);
void endrpcent(void);
void endservent(void);
void endspent(void);
void endusershell(void);
void endutent(void);
void endutxent(void);
error_t envz_add(char **envz, size_t *envz_len, const char *name, const char *value);
char *envz_entry(const char *envz, size_t envz_len, const char *name);
char *envz_get(const char *envz, size_t envz_len, const char *name);
error_t envz_merge(char **envz, size_t *envz_len, const char *envz2, size_t envz2_len, int override);
void envz_remove(char **envz, size_t *envz_len, const char *name);
void envz_strip(char **envz, size_t *envz_len);
int epoll_create(int size); // errno
int epoll_create1(enum epoll_flags flags); // errno
int epoll_ctl(int epfd, enum epoll_operation op, int fd, struct epoll_event *event); // errno
int epoll_pwait(int epfd, struct epoll_event *events, int maxevents, int timeout, const __sigset_t *ss); // errno
int epoll_pwait2(int epfd, struct epoll_event *events, int maxevents, const struct timespec *timeout, const __sigset_t *ss); // errno
int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout); // errno
double erand48(unsigned short *xsubi);
int erand48_r(unsigned short *xsubi, struct drand48_data *buffer, double *result);
void err(int status, const char *format, ...) __attribute__((format(printf, 2, 3))); // does not return
void error(int status, int errnum, const char *format, ...) __attribute__((format(printf, 3, 4)));
void error_at_line(int status, int errnum, const char *fname, unsigned int lineno, const char *format, ...) __attribute__((format(printf, 5, 6)));
void errx(int status, const char *format, ...) __attribute__((format(printf, 2, 3))); // does not return
struct ether_addr *ether_aton(const char *asc);
struct ether_addr *ether_aton_r(const char *asc, struct ether_addr *addr);
int ether_hostton(const char *hostname, struct ether_addr *addr);
int ether_line(const char *line, struct ether_addr *addr, char *hostname);
char *ether_ntoa(const struct ether_addr *addr);
char *ether_ntoa_r(const struct ether_addr *addr, char *buf);
int ether_ntohost(char *hostname, const struct ether_addr *addr);
int euidaccess(const char *name, enum access_mode type); // errno
int eventfd(unsigned int count, enum eventfd_flags flags); // errno
int eventfd_read(int fd, eventfd_t *value); // errno
int eventfd_write(int fd, eventfd_t value); // errno
int execl(const char *path, const char *arg, ...); // errno
int execle(const char *path, const char *arg, ...); // errno
int execlp(const char *file, const char *arg, ...); // errno
int execv(const char *path, char *const *argv); // errno
int execve(const char *path, char *const *argv, char *const *envp); // errno
int execveat(enum directory_fd fd, const char *path, char *const *argv, char *const *envp, enum fstatat_flags flags); // errno
int execvp(const char *file, char *const *argv); // errno
int execvpe(const char *file, char *const *argv, char *const *envp); // errno
void exit(int status); // does not return
void explicit_bzero(void *s, size_t n);
int faccessat(enum directory_fd fd, const char *file, enum access_mode type, enum faccessat_flags flag); // errno
int fallocate(int fd, enum fallocate_mode mode, __off64_t offset, __off64_t len); // errno
int fallocate64(int fd, enum fallocate_mode mode, __off64_t offset, __off64_t len); // errno
int fanotify_init(unsigned int flags, unsigned int event_f_flags); // errno
int fanotify_mark(int fanotify_fd, unsigned int flags, uint64_t mask, int dfd, const char *pathname); // errno
int fchdir(int fd); // errno
int fchmod(int fd, __mode_t mode); // errno
int fchmodat(enum directory_fd fd, const char *file, __mode_t mode, enum fstatat_flags flag); // errno
int fchown(int fd, __uid_t owner, __gid_t group); // errno
int fchownat(enum directory_fd fd, const char *file, __uid_t owner, __gid_t group, enum fstatat_flags flag); // errno
int fclose(FILE *stream); // errno
int fcloseall(void);
int fcntl(int fd, enum fcntl_command cmd, ...); // errno; int arg if cmd = 0 1030 2 8 10 1024 1026 1031 1033 | enum open_flags flags if cmd = 4 | void *at if cmd = 5 6 7 36 37 38 16 15 1037 1035 1038 1036
int fcntl64(int fd, enum fcntl_command cmd, ...); // errno; int arg if cmd = 0 1030 2 8 10 1024 1026 1031 1033 | enum open_flags flags if cmd = 4 | void *at if cmd = 5 6 7 36 37 38 16 15 1037 1035 1038 1036
char *fcvt(double value, int ndigit, int *decpt, int *sign);
int fcvt_r(double value, int ndigit, int *decpt, int *sign, char *buf, size_t len);
int fdatasync(int fildes); // errno
FILE *fdopen(int fd, const char *modes); // errno
DIR *fdopendir(int fd); // errno
int feof(FILE *stream);
int feof_unlocked(FILE *stream);
int ferror(FILE *stream);
int ferror_unlocked(FILE *stream);
int fexecve(int fd, char *const *argv, char *const *envp); // errno
int fflush(FILE *stream); // errno
int fflush_unlocked(FILE *stream);
int ffs(int i);
int ffsl(long l);
int ffsll(long long ll);
int fgetc(FILE *stream);
int fgetc_unlocked(FILE *stream);
struct group *fgetgrent(FILE *stream); // errno
int fgetgrent_r(FILE *stream, struct group *resultbuf, char *buffer, size_t buflen, struct group **result);
int fgetpos(FILE *stream, fpos_t *pos); // errno
int fgetpos64(FILE *stream, fpos64_t *pos); // errno
struct passwd *fgetpwent(FILE *stream); // errno
int fgetpwent_r(FILE *stream, struct passwd *resultbuf, char *buffer, size_t buflen, struct passwd **result);
char *fgets(char *s, int n, FILE *stream);
char *fgets_unlocked(char *s, int n, FILE *stream);
struct spwd *fgetspent(FILE *stream);
int fgetspent_r(FILE *stream, struct spwd *result_buf, char *buffer, size_t buflen, struct spwd **result);
wint_t fgetwc(__FILE *stream);
wint_t fgetwc_unlocked(__FILE *stream);
wchar_t *fgetws(wchar_t *ws, int n, __FILE *stream);
wchar_t *fgetws_unlocked(wchar_t *ws, int n, __FILE *stream);
ssize_t fgetxattr(int fd, const char *name, void *value, size_t size); // errno
int fileno(FILE *stream); // errno
int fileno_unlocked(FILE *stream);
ssize_t flistxattr(int fd, char *list, size_t size); // errno
int flock(int fd, enum flock_operation operation); // errno
void flockfile(FILE *stream);
FILE *fmemopen(void *s, size_t len, const char *modes); // errno
int fnmatch(const char *pattern, const char *name, enum fnmatch_flags flags);
FILE *fopen(const char *filename, const char *modes); // errno
FILE *fopen64(const char *filename, const char *modes); // errno
__pid_t fork(void); // errno
int forkpty(int *amaster, char *name, const struct termios *termp, const struct winsize *winp); // errno
long fpathconf(int fd, enum pathconf_name name);
int fprintf(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fputc(int c, FILE *stream);
int fputc_unlocked(int c, FILE *stream);
int fputs(const char *s, FILE *stream);
int fputs_unlocked(const char *s, FILE *stream);
wint_t fputwc(wchar_t wc, __FILE *stream);
wint_t fputwc_unlocked(wchar_t wc, __FILE *stream);
int fputws(const wchar_t *ws, __FILE *stream);
int fputws_unlocked(const wchar_t *ws, __FILE *stream);
unsigned long fread(void *ptr, size_t size, size_t n, FILE *stream);
size_t fread_unlocked(void *ptr, size_t size, size_t n, FILE *stream);
void free(void *ptr);
void freeaddrinfo(struct addrinfo *ai);
void freeifaddrs(struct ifaddrs *ifa);
void freelocale(locale_t dataset);
int fremovexattr(int fd, const char *name); // errno
FILE *freopen(const char *filename, const char *modes, FILE *stream); // errno
FILE *freopen64(const char *filename, const char *modes, FILE *stream); // errno
int fscanf(FILE *stream, const char *format, ...) __attribute__((format(scanf, 2, 3))); // errno
int fsconfig(int fd, unsigned int cmd, const char *key, const void *value, int aux);
int fseek(FILE *stream, long off, enum whence whence); // errno
int fseeko(FILE *stream, __off64_t off, enum whence whence); // errno
int fseeko64(FILE *stream, __off64_t off, enum whence whence); // errno
int fsetpos(FILE *stream, const fpos_t *pos); // errno
int fsetpos64(FILE *stream, const fpos64_t *pos); // errno
int fsetxattr(int fd, const char *name, const void *value, size_t size, enum xattr_flags flags); // errno
int fsmount(int fd, unsigned int flags, unsigned int ms_flags);
int fsopen(const char *fs_name, unsigned int flags);
int fspick(int dfd, const char *path, unsigned int flags);
int fstat(int fd, struct stat *buf); // errno
int fstat64(int fd, struct stat64 *buf); // errno
int fstatat(enum directory_fd fd, const char *file, struct stat *buf, enum fstatat_flags flag); // errno
int fstatat64(enum directory_fd fd, const char *file, struct stat64 *buf, enum fstatat_flags flag); // errno
int fstatfs(int fildes, struct statfs *buf); // errno
int fstatfs64(int fildes, struct statfs64 *buf); // errno
int fstatvfs(int fildes, struct statvfs *buf); // errno
int fstatvfs64(int fildes, struct statvfs64 *buf); // errno
int fsync(int fd); // errno
long ftell(FILE *stream); // errno
__off64_t ftello(FILE *stream); // errno
__off64_t ftello64(FILE *stream); // errno
key_t ftok(const char *pathname, int proj_id); // errno
int ftruncate(int fd, __off64_t length); // errno
int ftruncate64(int fd, __off64_t length); // errno
int ftrylockfile(FILE *stream);
int ftw(const char *dir, __ftw_func_t func, int descriptors);
int ftw64(const char *dir, __ftw64_func_t func, int descriptors);
void funlockfile(FILE *stream);
int futimens(int fd, const struct timespec *times); // errno
int futimes(int fd, const struct timeval *tvp); // errno
int futimesat(enum directory_fd fd, const char *file, const struct timeval *tvp); // errno
int fwide(__FILE *fp, int mode);
int fwprintf(__FILE *stream, const wchar_t *format, ...);
unsigned long fwrite(const void *ptr, size_t size, size_t n, FILE *s);
size_t fwrite_unlocked(const void *ptr, size_t size, size_t n, FILE *stream);
int fwscanf(__FILE *stream, const wchar_t *format, ...);
int gai_cancel(struct gaicb *gaicbp);
int gai_error(struct gaicb *req);
const char *gai_strerror(int ecode); // errno
int gai_suspend(const struct gaicb *const *list, int ent, const struct timespec *timeout);
char *gcvt(double value, int ndigit, char *buf);
long get_avphys_pages(void); // errno
char *get_current_dir_name(void); // errno
int get_nprocs(void);
int get_nprocs_conf(void);
long get_phys_pages(void); // errno
int getaddrinfo(const char *name, const char *service, const struct addrinfo *req, struct addrinfo **pai);
int getaddrinfo_a(int mode, struct gaicb **list, int ent, struct sigevent *sig);
unsigned long getauxval(unsigned long type);
int getc(FILE *stream);
int getc_unlocked(FILE *stream);
int getchar(void);
int getchar_unlocked(void);
int getcontext(ucontext_t *ucp); // errno
int getcpu(unsigned int *arg1, unsigned int *arg2); // errno
char *getcwd(char *buf, size_t size); // errno
struct tm *getdate(const char *string);
int getdate_r(const char *string, struct tm *resbufp);
__ssize_t getdelim(char **lineptr, size_t *n, int delimiter, FILE *stream);
__ssize_t getdents64(int fd, void *buffer, size_t length); // errno
__ssize_t getdirentries(int fd, char *buf, size_t nbytes, __off64_t *basep); // errno
__ssize_t getdirentries64(int fd, char *buf, size_t nbytes, __off64_t *basep); // errno
int getdomainname(char *name, size_t len); // errno
int getdtablesize(void);
__gid_t getegid(void);
int getentropy(void *buffer, size_t length); // errno
char *getenv(const char *name);
__uid_t geteuid(void);
__gid_t getgid(void);
struct group *getgrent(void);
int getgrent_r(struct group *resultbuf, char *buffer, size_t buflen, struct group **result);
struct group *getgrgid(__gid_t gid);
int getgrgid_r(__gid_t gid, struct group *resultbuf, char *buffer, size_t buflen, struct group **result);
struct group *getgrnam(const char *name);
int getgrnam_r(const char *name, struct group *resultbuf, char *buffer, size_t buflen, struct group **result);
int getgrouplist(const char *user, __gid_t group, __gid_t *groups, int *ngroups);
int getgroups(int size, __gid_t *list); // errno
struct hostent *gethostbyaddr(const void *addr, __socklen_t len, int type);
int gethostbyaddr_r(const void *addr, __socklen_t len, int type, struct hostent *result_buf, char *buf, size_t buflen, struct hostent **result, int *h_errnop);
struct hostent *gethostbyname(const char *name);
struct hostent *gethostbyname2(const char *name, enum address_family af);
int gethostbyname2_r(const char *name, int af, struct hostent *result_buf, char *buf, size_t buflen, struct hostent **result, int *h_errnop);
int gethostbyname_r(const char *name, struct hostent *result_buf, char *buf, size_t buflen, struct hostent **result, int *h_errnop);
struct hostent *gethostent(void);
int gethostent_r(struct hostent *result_buf, char *buf, size_t buflen, struct hostent **result, int *h_errnop);
long gethostid(void); // errno
int gethostname(char *name, size_t len); // errno
int getifaddrs(struct ifaddrs **ifap); // errno
int getitimer(__itimer_which_t which, struct itimerval *value); // errno
__ssize_t getline(char **lineptr, size_t *n, FILE *stream);
int getloadavg(double *loadavg, int nelem);
char *getlogin(void); // errno
int getlogin_r(char *name, size_t name_len);
struct mntent *getmntent(FILE *stream);
struct mntent *getmntent_r(FILE *stream, struct mntent *result, char *buffer, int bufsize);
int getnameinfo(const struct sockaddr *sa, socklen_t salen, char *host, socklen_t hostlen, char *serv, socklen_t servlen, enum nameinfo_flags flags);
struct netent *getnetbyaddr(uint32_t net, int type);
int getnetbyaddr_r(uint32_t net, int type, struct netent *result_buf, char *buf, size_t buflen, struct netent **result, int *h_errnop); // error number
struct netent *getnetbyname(const char *name);
int getnetbyname_r(const char *name, struct netent *result_buf, char *buf, size_t buflen, struct netent **result, int *h_errnop); // error number
struct netent *getnetent(void);
int getnetent_r(struct netent *result_buf, char *buf, size_t buflen, struct netent **result, int *h_errnop); // error number
int getnetgrent(char **hostp, char **userp, char **domainp);
int getnetgrent_r(char **hostp, char **userp, char **domainp, char *buffer, size_t buflen);
int getopt(int argc, char *const *argv, const char *shortopts);
int getopt_long(int argc, char *const *argv, const char *shortopts, const struct option *longopts, int *longind);
int getopt_long_only(int argc, char *const *argv, const char *shortopts, const struct option *longopts, int *longind);
int getpagesize(void);
char *getpass(const char *prompt); // errno
int getpeername(int fd, struct sockaddr *addr, socklen_t *len); // errno
__pid_t getpgid(__pid_t pid); // errno
__pid_t getpgrp(void); // errno
__pid_t getpid(void);
__pid_t getppid(void);
int getpriority(__priority_which_t which, id_t who);
struct protoent *getprotobyname(const char *name);
int getprotobyname_r(const char *name, struct protoent *result_buf, char *buf, size_t buflen, struct protoent **result); // error number
struct protoent *getprotobynumber(int proto);
int getprotobynumber_r(int proto, struct protoent *result_buf, char *buf, size_t buflen, struct protoent **result); // error number
struct protoent *getprotoent(void);
int getprotoent_r(struct protoent *result_buf, char *buf, size_t buflen, struct protoent **result); // error number
int getpt(void); // errno
int getpw(__uid_t uid, char *buffer);
struct passwd *getpwent(void);
int getpwent_r(struct passwd *resultbuf, char *buffer, size_t buflen, struct passwd **result);
struct passwd *getpwnam(const char *name);
int getpwnam_r(const char *name, struct passwd *resultbuf, char *buffer, size_t buflen, struct passwd **result);
struct passwd *getpwuid(__uid_t uid);
int getpwuid_r(__uid_t uid, struct passwd *resultbuf, char *buffer, size_t buflen, struct passwd **result);
ssize_t getrandom(void *buffer, size_t length, enum random_flags flags); // errno
int getresgid(__gid_t *rgid, __gid_t *egid, __gid_t *sgid); // errno
int getresuid(__uid_t *ruid, __uid_t *euid, __uid_t *suid); // errno
int getrlimit(enum resource_limit resource, struct rlimit *rlimits); // errno
int getrlimit64(enum resource_limit resource, struct rlimit64 *rlimits); // errno
struct rpcent *getrpcbyname(const char *name);
int getrpcbyname_r(const char *name, struct rpcent *result_buf, char *buffer, size_t buflen, struct rpcent **result); // error number
struct rpcent *getrpcbynumber(int number);
int getrpcbynumber_r(int number, struct rpcent *result_buf, char *buffer, size_t buflen, struct rpcent **result); // error number
struct rpcent *getrpcent(void);
int getrpcent_r(struct rpcent *result_buf, char *buffer, size_t buflen, struct rpcent **result); // error number
int getrusage(__rusage_who_t who, struct rusage *usage); // errno
struct servent *getservbyname(const char *name, const char *proto);
int getservbyname_r(const char *name, const char *proto, struct servent *result_buf, char *buf, size_t buflen, struct servent **result); // error number
struct servent *getservbyport(int port, const char *proto);
int getservbyport_r(int port, const char *proto, struct servent *result_buf, char *buf, size_t buflen, struct servent **result); // error number
struct servent *getservent(void);
int getservent_r(struct servent *result_buf, char *buf, size_t buflen, struct servent **result); // error number
__pid_t getsid(__pid_t pid); // errno
int getsockname(int fd, struct sockaddr *addr, socklen_t *len); // errno
int getsockopt(int fd, enum socket_level level, int optname, void *optval, socklen_t *optlen); // errno
int getsourcefilter(int s, uint32_t interface_addr, const struct sockaddr *group, socklen_t grouplen, uint32_t *fmode, uint32_t *numsrc, struct sockaddr_storage *slist);
struct spwd *getspent(void);
int getspent_r(struct spwd *result_buf, char *buffer, size_t buflen, struct spwd **result);
struct spwd *getspnam(const char *name);
int getspnam_r(const char *name, struct spwd *result_buf, char *buffer, size_t buflen, struct spwd **result);
int getsubopt(char **optionp, char *const *tokens, char **valuep);
char *gettext(const char *msgid);
__pid_t gettid(void);
int gettimeofday(struct timeval *tv, void *tz); // errno
__uid_t getuid(void);
char *getusershell(void);
struct utmp *getutent(void);
int getutent_r(struct utmp *buffer, struct utmp **result);
struct utmp *getutid(const struct utmp *id);
int getutid_r(const struct utmp *id, struct utmp *buffer, struct utmp **result);
struct utmp *getutline(const struct utmp *line);
int getutline_r(const struct utmp *line, struct utmp *buffer, struct utmp **result);
void getutmp(const struct utmpx *utmpx, struct utmp *utmp);
void getutmpx(const struct utmp *utmp, struct utmpx *utmpx);
struct utmpx *getutxent(void);
struct utmpx *getutxid(const struct utmpx *id);
struct utmpx *getutxline(const struct utmpx *line);
int getw(FILE *stream);
wint_t getwc(__FILE *stream);
wint_t getwc_unlocked(__FILE *stream);
wint_t getwchar(void);
wint_t getwchar_unlocked(void);
char *getwd(char *buf); // errno
ssize_t getxattr(const char *path, const char *name, void *value, size_t size); // errno
int glob(const char *pattern, int flags, int (*errfunc)(const char *, int), glob_t *pglob);
int glob64(const char *pattern, int flags, int (*errfunc)(const char *, int), glob64_t *pglob);
int glob_pattern_p(const char *pattern, int quote);
void globfree(glob_t *pglob);
void globfree64(glob64_t *pglob);
struct tm *gmtime(const time_t *timer); // errno
struct tm *gmtime_r(const time_t *timer, struct tm *tp); // errno
int grantpt(int fd); // errno
int group_member(__gid_t gid);
int gsignal(enum signal_number sig);
char *hasmntopt(const struct mntent *mnt, const char *opt);
int hcreate(size_t nel);
int hcreate_r(size_t nel, struct hsearch_data *htab);
void hdestroy(void);
void hdestroy_r(struct hsearch_data *htab);
void herror(const char *str);
const char *hstrerror(int err_num);
uint32_t htonl(uint32_t hostlong);
uint16_t htons(uint16_t hostshort);
size_t iconv(iconv_t cd, char **inbuf, size_t *inbytesleft, char **outbuf, size_t *outbytesleft);
int iconv_close(iconv_t cd); // errno
iconv_t iconv_open(const char *tocode, const char *fromcode); // errno
void if_freenameindex(struct if_nameindex *ptr);
char *if_indextoname(unsigned int ifindex, char *ifname); // errno
struct if_nameindex *if_nameindex(void); // errno
unsigned int if_nametoindex(const char *ifname);
intmax_t imaxabs(intmax_t n);
char *index(const char *s, int c);
int inet6_opt_append(void *extbuf, socklen_t extlen, int offset, uint8_t type, socklen_t len, uint8_t align, void **databufp);
int inet6_opt_find(void *extbuf, socklen_t extlen, int offset, uint8_t type, socklen_t *lenp, void **databufp);
int inet6_opt_finish(void *extbuf, socklen_t extlen, int offset);
int inet6_opt_get_val(void *databuf, int offset, void *val, socklen_t vallen);
int inet6_opt_init(void *extbuf, socklen_t extlen);
int inet6_opt_next(void *extbuf, socklen_t extlen, int offset, uint8_t *typep, socklen_t *lenp, void **databufp);
int inet6_opt_set_val(void *databuf, int offset, void *val, socklen_t vallen);
uint8_t *inet6_option_alloc(struct cmsghdr *cmsg, int datalen, int multx, int plusy);
int inet6_option_append(struct cmsghdr *cmsg, const uint8_t *typep, int multx, int plusy);
int inet6_option_find(const struct cmsghdr *cmsg, uint8_t **tptrp, int type);
int inet6_option_init(void *bp, struct cmsghdr **cmsgp, int type);
int inet6_option_next(const struct cmsghdr *cmsg, uint8_t **tptrp);
int inet6_option_space(int nbytes);
int inet6_rth_add(void *bp, const struct in6_addr *addr);
struct in6_addr *inet6_rth_getaddr(const void *bp, int index);
void *inet6_rth_init(void *bp, socklen_t bp_len, int type, int segments);
int inet6_rth_reverse(const void *in, void *out);
int inet6_rth_segments(const void *bp);
socklen_t inet6_rth_space(int type, int segments);
in_addr_t inet_addr(const char *cp);
int inet_aton(const char *cp, struct in_addr *inp);
in_addr_t inet_network(const char *cp);
unsigned int inet_nsap_addr(const char *cp, unsigned char *buf, int len);
char *inet_nsap_ntoa(int len, const unsigned char *cp, char *buf);
const char *inet_ntop(enum address_family af, const void *cp, char *buf, socklen_t len); // errno
int inet_pton(enum address_family af, const char *cp, void *buf); // errno
int initgroups(const char *user, __gid_t group); // errno
char *initstate(unsigned int seed, char *statebuf, size_t statelen); // errno
int initstate_r(unsigned int seed, char *statebuf, size_t statelen, struct random_data *buf); // errno
int innetgr(const char *netgroup, const char *host, const char *user, const char *domain);
int inotify_add_watch(int fd, const char *name, enum inotify_events mask); // errno
int inotify_init(void); // errno
int inotify_init1(enum inotify_flags flags); // errno
int inotify_rm_watch(int fd, int wd); // errno
void insque(void *elem, void *prev);
int ioctl(int fd, enum ioctl_request request, ...); // errno; void *arg if request & 0x3fff0000 | int number if request = 21513 21514 21515 21518 | void *at if request = 21505 21506 21508 21507 21523 21524 21519 21520 21540 21539 21545 21521 21522 21531 21537 21586 35093 35136 35097 35090 35128 35095 35109 35091 35111 35123 35184 35103 35101 35105 35088 35099 35125 35113 35138 35094 35137 35098 35096 35110 35092 35108 35127 35089 35185 35104 35102 35106 35107 35100 35124 35120 35139
int iruserok(uint32_t raddr, int suser, const char *remuser, const char *locuser); // errno
int iruserok_af(const void *raddr, int suser, const char *remuser, const char *locuser, sa_family_t af); // errno
int isalnum(int arg1);
int isalnum_l(int arg1, locale_t arg2);
int isalpha(int arg1);
int isalpha_l(int arg1, locale_t arg2);
int isascii(int c);
int isatty(int fd);
int isblank(int arg1);
int isblank_l(int arg1, locale_t arg2);
int iscntrl(int arg1);
int iscntrl_l(int arg1, locale_t arg2);
int isctype(int c, int mask);
int isdigit(int arg1);
int isdigit_l(int arg1, locale_t arg2);
int isfdtype(int fd, int fdtype); // errno
int isgraph(int arg1);
int isgraph_l(int arg1, locale_t arg2);
int islower(int arg1);
int islower_l(int arg1, locale_t arg2);
int isprint(int arg1);
int isprint_l(int arg1, locale_t arg2);
int ispunct(int arg1);
int ispunct_l(int arg1, locale_t arg2);
int isspace(int arg1);
int isspace_l(int arg1, locale_t arg2);
int isupper(int arg1);
int isupper_l(int arg1, locale_t arg2);
int iswalnum(wint_t wc);
int iswalnum_l(wint_t wc, locale_t locale);
int iswalpha(wint_t wc);
int iswalpha_l(wint_t wc, locale_t locale);
int iswblank(wint_t wc);
int iswblank_l(wint_t wc, locale_t locale);
int iswcntrl(wint_t wc);
int iswcntrl_l(wint_t wc, locale_t locale);
int iswctype(wint_t wc, wctype_t desc);
int iswctype_l(wint_t wc, wctype_t desc, locale_t locale);
int iswdigit(wint_t wc);
int iswdigit_l(wint_t wc, locale_t locale);
int iswgraph(wint_t wc);
int iswgraph_l(wint_t wc, locale_t locale);
int iswlower(wint_t wc);
int iswlower_l(wint_t wc, locale_t locale);
int iswprint(wint_t wc);
int iswprint_l(wint_t wc, locale_t locale);
int iswpunct(wint_t wc);
int iswpunct_l(wint_t wc, locale_t locale);
int iswspace(wint_t wc);
int iswspace_l(wint_t wc, locale_t locale);
int iswupper(wint_t wc);
int iswupper_l(wint_t wc, locale_t locale);
int iswxdigit(wint_t wc);
int iswxdigit_l(wint_t wc, locale_t locale);
int isxdigit(int arg1);
int isxdigit_l(int arg1, locale_t arg2);
long jrand48(unsigned short *xsubi);
int jrand48_r(unsigned short *xsubi, struct drand48_data *buffer, long *result);
int kill(__pid_t pid, enum signal_number sig); // errno
int killpg(__pid_t pgrp, enum signal_number sig); // errno
char *l64a(long n);
long labs(long x);
int lchmod(const char *file, __mode_t mode);
int lchown(const char *file, __uid_t owner, __gid_t group); // errno
int lckpwdf(void);
void lcong48(unsigned short *param);
int lcong48_r(unsigned short *param, struct drand48_data *buffer);
void *lfind(const void *key, const void *base, size_t *nmemb, size_t size, __compar_fn_t compar);
ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size); // errno
int link(const char *from, const char *to); // errno
int linkat(enum directory_fd fromfd, const char *from, enum directory_fd tofd, const char *to, enum linkat_flags flags); // errno
int lio_listio(int mode, struct aiocb *const *list, int nent, struct sigevent *sig); // errno
int lio_listio64(int mode, struct aiocb64 *const *list, int nent, struct sigevent *sig); // errno
int listen(int fd, int n); // errno
ssize_t listxattr(const char *path, char *list, size_t size); // errno
long long llabs(long long x);
ssize_t llistxattr(const char *path, char *list, size_t size); // errno
struct lconv *localeconv(void);
struct tm *localtime(const time_t *timer); // errno
struct tm *localtime_r(const time_t *timer, struct tm *tp); // errno
int lockf(int fd, enum lockf_command cmd, __off64_t len); // errno
int lockf64(int fd, enum lockf_command cmd, off64_t len); // errno
void login(const struct utmp *entry);
int login_tty(int fd); // errno
int logout(const char *ut_line);
void logwtmp(const char *ut_line, const char *ut_name, const char *ut_host);
void longjmp(struct __jmp_buf_tag *env, int val); // does not return
long lrand48(void);
int lrand48_r(struct drand48_data *buffer, long *result);
int lremovexattr(const char *path, const char *name); // errno
void *lsearch(const void *key, void *base, size_t *nmemb, size_t size, __compar_fn_t compar);
__off64_t lseek(int fd, __off64_t offset, enum whence whence); // errno
__off64_t lseek64(int fd, __off64_t offset, enum whence whence); // errno
int lsetxattr(const char *path, const char *name, const void *value, size_t size, enum xattr_flags flags); // errno
int lstat(const char *file, struct stat *buf); // errno
int lstat64(const char *file, struct stat64 *buf); // errno
int lutimes(const char *file, const struct timeval *tvp); // errno
int madvise(void *addr, size_t len, enum madvise_advice advice); // errno
void makecontext(ucontext_t *ucp, void (*func)(void), int argc, ...);
void *malloc(size_t size); // errno
int malloc_info(int options, FILE *fp); // errno
void malloc_stats(void);
int malloc_trim(size_t pad);
size_t malloc_usable_size(void *ptr);
int mallopt(int param, int val);
int mblen(const char *s, size_t n);
size_t mbrlen(const char *s, size_t n, mbstate_t *ps);
size_t mbrtoc16(char16_t *pc16, const char *s, size_t n, mbstate_t *p);
size_t mbrtoc32(char32_t *pc32, const char *s, size_t n, mbstate_t *p);
size_t mbrtoc8(char8_t *pc8, const char *s, size_t n, mbstate_t *p);
size_t mbrtowc(wchar_t *pwc, const char *s, size_t n, mbstate_t *p);
int mbsinit(const mbstate_t *ps);
size_t mbsnrtowcs(wchar_t *dst, const char **src, size_t nmc, size_t len, mbstate_t *ps);
size_t mbsrtowcs(wchar_t *dst, const char **src, size_t len, mbstate_t *ps);
size_t mbstowcs(wchar_t *pwcs, const char *s, size_t n);
int mbtowc(wchar_t *pwc, const char *s, size_t n);
int mcheck(void (*abortfunc)(enum mcheck_status));
void mcheck_check_all(void);
int mcheck_pedantic(void (*abortfunc)(enum mcheck_status));
void *memalign(size_t alignment, size_t size);
void *memccpy(void *dest, const void *src, int c, size_t n);
void *memchr(const void *s, int c, size_t n);
int memcmp(const void *s1, const void *s2, size_t n);
void *memcpy(void *dest, const void *src, size_t n);
int memfd_create(const char *name, enum memfd_flags flags); // errno
void *memfrob(void *s, size_t n);
void *memmem(const void *haystack, size_t haystacklen, const void *needle, size_t needlelen);
void *memmove(void *dest, const void *src, size_t n);
void *mempcpy(void *dest, const void *src, size_t n);
void *memrchr(const void *s, int c, size_t n);
void *memset(void *s, int c, size_t n);
int mincore(void *start, size_t len, unsigned char *vec); // errno
int mkdir(const char *path, __mode_t mode); // errno
int mkdirat(enum directory_fd fd, const char *path, __mode_t mode); // errno
char *mkdtemp(char *template); // errno
int mkfifo(const char *path, __mode_t mode); // errno
int mkfifoat(enum directory_fd fd, const char *path, __mode_t mode); // errno
int mknod(const char *path, __mode_t mode, __dev_t dev); // errno
int mknodat(enum directory_fd fd, const char *path, __mode_t mode, __dev_t dev); // errno
int mkostemp(char *template, enum mkostemp_flags flags); // errno
int mkostemp64(char *template, enum mkostemp_flags flags); // errno
int mkostemps(char *template, int suffixlen, enum mkostemp_flags flags); // errno
int mkostemps64(char *template, int suffixlen, enum mkostemp_flags flags); // errno
int mkstemp(char *template); // errno
int mkstemp64(char *template); // errno
int mkstemps(char *template, int suffixlen); // errno
int mkstemps64(char *template, int suffixlen); // errno
char *mktemp(char *template);
time_t mktime(struct tm *tp);
int mlock(const void *addr, size_t len); // errno
int mlock2(const void *addr, size_t length, enum mlock2_flags flags); // errno
int mlockall(enum mlockall_flags flags); // errno
void *mmap(void *addr, size_t len, enum memory_protection prot, enum mmap_flags flags, int fd, __off64_t offset); // errno
void *mmap64(void *addr, size_t len, enum memory_protection prot, enum mmap_flags flags, int fd, __off64_t offset); // errno
int mount(const char *special_file, const char *dir, const char *fstype, enum mount_flags rwflag, const void *data); // errno
int mount_setattr(int dfd, const char *path, unsigned int flags, struct mount_attr *uattr, size_t usize); // errno
int move_mount(int from_dfd, const char *from_pathname, int to_dfd, const char *to_pathname, unsigned int flags);
enum mcheck_status mprobe(void *ptr);
int mprotect(void *addr, size_t len, enum memory_protection prot); // errno
int mq_close(mqd_t mqdes); // errno
int mq_getattr(mqd_t mqdes, struct mq_attr *mqstat); // errno
int mq_notify(mqd_t mqdes, const struct sigevent *notification); // errno
mqd_t mq_open(const char *name, enum open_flags oflag, ...); // errno; __mode_t mode if oflag & 0x40; struct mq_attr *attr if oflag & 0x40
ssize_t mq_receive(mqd_t mqdes, char *msg_ptr, size_t msg_len, unsigned int *msg_prio); // errno
int mq_send(mqd_t mqdes, const char *msg_ptr, size_t msg_len, unsigned int msg_prio); // errno
int mq_setattr(mqd_t mqdes, const struct mq_attr *mqstat, struct mq_attr *omqstat); // errno
ssize_t mq_timedreceive(mqd_t mqdes, char *msg_ptr, size_t msg_len, unsigned int *msg_prio, const struct timespec *abs_timeout); // errno
int mq_timedsend(mqd_t mqdes, const char *msg_ptr, size_t msg_len, unsigned int msg_prio, const struct timespec *abs_timeout); // errno
int mq_unlink(const char *name); // errno
long mrand48(void);
int mrand48_r(struct drand48_data *buffer, long *result);
void *mremap(void *addr, size_t old_len, size_t new_len, enum mremap_flags flags, ...); // errno
int msgctl(int msqid, int cmd, struct msqid_ds *buf); // errno
int msgget(key_t key, int msgflg); // errno
ssize_t msgrcv(int msqid, void *msgp, size_t msgsz, long msgtyp, int msgflg); // errno
int msgsnd(int msqid, const void *msgp, size_t msgsz, int msgflg); // errno
int msync(void *addr, size_t len, enum msync_flags flags); // errno
void mtrace(void);
void mtx_destroy(mtx_t *mutex);
int mtx_init(mtx_t *mutex, int type);
int mtx_lock(mtx_t *mutex);
int mtx_timedlock(mtx_t *mutex, const struct timespec *time_point);
int mtx_trylock(mtx_t *mutex);
int mtx_unlock(mtx_t *mutex);
int munlock(const void *addr, size_t len); // errno
int munlockall(void); // errno
int munmap(void *addr, size_t len); // errno
void muntrace(void);
int name_to_handle_at(enum directory_fd dfd, const char *name, struct file_handle *handle, int *mnt_id, enum name_to_handle_flags flags); // errno
int nanosleep(const struct timespec *requested_time, struct timespec *remaining); // errno
locale_t newlocale(int category_mask, const char *locale, locale_t base);
int nftw(const char *dir, __nftw_func_t func, int descriptors, int flag);
int nftw64(const char *dir, __nftw64_func_t func, int descriptors, int flag);
char *ngettext(const char *msgid1, const char *msgid2, unsigned long n);
int nice(int inc);
char *nl_langinfo(nl_item item);
char *nl_langinfo_l(nl_item item, locale_t l);
long nrand48(unsigned short *xsubi);
int nrand48_r(unsigned short *xsubi, struct drand48_data *buffer, long *result);
int ns_name_compress(const char *arg1, unsigned char *arg2, size_t arg3, const unsigned char **arg4, const unsigned char **arg5);
int ns_name_ntop(const unsigned char *arg1, char *arg2, size_t arg3);
int ns_name_pack(const unsigned char *arg1, unsigned char *arg2, int arg3, const unsigned char **arg4, const unsigned char **arg5);
int ns_name_pton(const char *arg1, unsigned char *arg2, size_t arg3);
int ns_name_skip(const unsigned char **arg1, const unsigned char *arg2);
int ns_name_uncompress(const unsigned char *arg1, const unsigned char *arg2, const unsigned char *arg3, char *arg4, size_t arg5);
int ns_name_unpack(const unsigned char *arg1, const unsigned char *arg2, const unsigned char *arg3, unsigned char *arg4, size_t arg5);
uint32_t ntohl(uint32_t netlong);
uint16_t ntohs(uint16_t netshort);
int ntp_adjtime(struct timex *tntx); // errno
int ntp_gettime(struct ntptimeval *ntv);
int ntp_gettimex(struct ntptimeval *ntv);
void obstack_free(struct obstack *arg1, void *arg2);
int obstack_printf(struct obstack *obstack, const char *format, ...) __attribute__((format(printf, 2, 3)));
int obstack_vprintf(struct obstack *obstack, const char *format, struct __va_list_tag *args);
int on_exit(void (*func)(int, void *), void *arg);
int open(const char *file, enum open_flags oflag, ...); // errno; __mode_t mode if oflag & 0x400040
int open64(const char *file, enum open_flags oflag, ...); // errno; __mode_t mode if oflag & 0x400040
int open_by_handle_at(int mountdirfd, struct file_handle *handle, enum open_flags flags); // errno
FILE *open_memstream(char **bufloc, size_t *sizeloc); // errno
int open_tree(int dfd, const char *filename, unsigned int flags);
__FILE *open_wmemstream(wchar_t **bufloc, size_t *sizeloc); // errno
int openat(enum directory_fd fd, const char *file, enum open_flags oflag, ...); // errno; __mode_t mode if oflag & 0x400040
int openat64(enum directory_fd fd, const char *file, enum open_flags oflag, ...); // errno; __mode_t mode if oflag & 0x400040
DIR *opendir(const char *name); // errno
void openlog(const char *ident, int option, int facility);
int openpty(int *amaster, int *aslave, char *name, const struct termios *termp, const struct winsize *winp); // errno
size_t parse_printf_format(const char *fmt, size_t n, int *argtypes);
long pathconf(const char *path, enum pathconf_name name);
int pause(void); // errno
int pclose(FILE *stream); // errno
void perror(const char *s);
int personality(unsigned long persona); // errno
int pidfd_getfd(int pidfd, int targetfd, unsigned int flags); // errno
int pidfd_open(__pid_t pid, unsigned int flags); // errno
int pidfd_send_signal(int pidfd, enum signal_number sig, siginfo_t *info, unsigned int flags); // errno
int pipe(int *pipedes); // errno
int pipe2(int *pipedes, enum descriptor_flags flags); // errno
int pkey_alloc(unsigned int flags, unsigned int access_rights); // errno
int pkey_free(int key); // errno
int pkey_get(int key);
int pkey_mprotect(void *addr, size_t len, enum memory_protection prot, int pkey); // errno
int pkey_set(int key, unsigned int access_rights);
int poll(struct pollfd *fds, nfds_t nfds, int timeout); // errno
FILE *popen(const char *command, const char *modes); // errno
int posix_fadvise(int fd, __off64_t offset, __off64_t len, enum fadvise_advice advise); // error number
int posix_fadvise64(int fd, off64_t offset, off64_t len, enum fadvise_advice advise); // error number
int posix_fallocate(int fd, __off64_t offset, __off64_t len);
int posix_fallocate64(int fd, off64_t offset, off64_t len);
int posix_madvise(void *addr, size_t len, enum posix_madvise_advice advice); // error number
int posix_memalign(void **memptr, size_t alignment, size_t size);
int posix_openpt(enum open_flags oflag); // errno
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *file_actions, const posix_spawnattr_t *attrp, char *const *argv, char *const *envp);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *file_actions, int fd);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *arg1, int from);
int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *file_actions, int fd, int newfd);
int posix_spawn_file_actions_addfchdir_np(posix_spawn_file_actions_t *arg1, int fd);
int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *file_actions, int fd, const char *path, enum open_flags oflag, mode_t mode);
int posix_spawn_file_actions_addtcsetpgrp_np(posix_spawn_file_actions_t *arg1, int tcfd);
int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *file_actions);
int posix_spawn_file_actions_init(posix_spawn_file_actions_t *file_actions);
int posix_spawnattr_destroy(posix_spawnattr_t *attr);
int posix_spawnattr_getflags(const posix_spawnattr_t *attr, short *flags);
int posix_spawnattr_getpgroup(const posix_spawnattr_t *attr, pid_t *pgroup);
int posix_spawnattr_getschedparam(const posix_spawnattr_t *attr, struct sched_param *schedparam);
int posix_spawnattr_getschedpolicy(const posix_spawnattr_t *attr, int *schedpolicy);
int posix_spawnattr_getsigdefault(const posix_spawnattr_t *attr, sigset_t *sigdefault);
int posix_spawnattr_getsigmask(const posix_spawnattr_t *attr, sigset_t *sigmask);
int posix_spawnattr_init(posix_spawnattr_t *attr);
int posix_spawnattr_setflags(posix_spawnattr_t *attr, short flags);
int posix_spawnattr_setpgroup(posix_spawnattr_t *attr, pid_t pgroup);
int posix_spawnattr_setschedparam(posix_spawnattr_t *attr, const struct sched_param *schedparam);
int posix_spawnattr_setschedpolicy(posix_spawnattr_t *attr, int schedpolicy);
int posix_spawnattr_setsigdefault(posix_spawnattr_t *attr, const sigset_t *sigdefault);
int posix_spawnattr_setsigmask(posix_spawnattr_t *attr, const sigset_t *sigmask);
int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *file_actions, const posix_spawnattr_t *attrp, char *const *argv, char *const *envp);
int ppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout, const __sigset_t *ss); // errno
int prctl(enum prctl_option option, ...); // errno; const char *name if option = 15 | void *at if option = 16 2 37 5 19 25 40 | unsigned long number if option = 1 4 8 29 36 38 28 41 26 1499557217 23 24 22
ssize_t pread(int fd, void *buf, size_t nbytes, __off64_t offset); // errno
ssize_t pread64(int fd, void *buf, size_t nbytes, __off64_t offset); // errno
ssize_t preadv(int fd, const struct iovec *iovec, int count, __off64_t offset); // errno
ssize_t preadv2(int fd, const struct iovec *iovec, int count, __off64_t offset, enum rw_flags flags); // errno
ssize_t preadv64(int fd, const struct iovec *iovec, int count, __off64_t offset); // errno
ssize_t preadv64v2(int fp, const struct iovec *iovec, int count, __off64_t offset, enum rw_flags flags);
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int printf_size(FILE *fp, const struct printf_info *info, const void *const *args);
int printf_size_info(const struct printf_info *info, size_t n, int *argtypes);
int prlimit(__pid_t pid, enum resource_limit resource, const struct rlimit *new_limit, struct rlimit *old_limit); // errno
int prlimit64(__pid_t pid, enum resource_limit resource, const struct rlimit64 *new_limit, struct rlimit64 *old_limit); // errno
__ssize_t process_madvise(int pid_fd, const struct iovec *iov, size_t count, enum madvise_advice advice, unsigned int flags); // errno
int process_mrelease(int pidfd, unsigned int flags);
ssize_t process_vm_readv(pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec, unsigned long riovcnt, unsigned long flags); // errno
ssize_t process_vm_writev(pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec, unsigned long riovcnt, unsigned long flags); // errno
int profil(unsigned short *sample_buffer, size_t size, size_t offset, unsigned int scale);
int pselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, const struct timespec *timeout, const __sigset_t *sigmask); // errno
void psiginfo(const siginfo_t *pinfo, const char *s);
void psignal(enum signal_number sig, const char *s);
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pthread_attr_destroy(pthread_attr_t *attr); // error number
int pthread_attr_getaffinity_np(const pthread_attr_t *attr, size_t cpusetsize, cpu_set_t *cpuset); // error number
int pthread_attr_getdetachstate(const pthread_attr_t *attr, int *detachstate); // error number
int pthread_attr_getguardsize(const pthread_attr_t *attr, size_t *guardsize); // error number
int pthread_attr_getinheritsched(const pthread_attr_t *attr, int *inherit); // error number
int pthread_attr_getschedparam(const pthread_attr_t *attr, struct sched_param *param); // error number
int pthread_attr_getschedpolicy(const pthread_attr_t *attr, int *policy); // error number
int pthread_attr_getscope(const pthread_attr_t *attr, int *scope); // error number
int pthread_attr_getsigmask_np(const pthread_attr_t *attr, __sigset_t *sigmask); // error number
int pthread_attr_getstack(const pthread_attr_t *attr, void **stackaddr, size_t *stacksize); // error number
int pthread_attr_getstackaddr(const pthread_attr_t *attr, void **stackaddr); // error number
int pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *stacksize); // error number
int pthread_attr_init(pthread_attr_t *attr); // error number
int pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t cpusetsize, const cpu_set_t *cpuset); // error number
int pthread_attr_setdetachstate(pthread_attr_t *attr, int detachstate); // error number
int pthread_attr_setguardsize(pthread_attr_t *attr, size_t guardsize); // error number
int pthread_attr_setinheritsched(pthread_attr_t *attr, int inherit); // error number
int pthread_attr_setschedparam(pthread_attr_t *attr, const struct sched_param *param); // error number
int pthread_attr_setschedpolicy(pthread_attr_t *attr, int policy); // error number
int pthread_attr_setscope(pthread_attr_t *attr, int scope); // error number
int pthread_attr_setsigmask_np(pthread_attr_t *attr, const __sigset_t *sigmask); // error number
int pthread_attr_setstack(pthread_attr_t *attr, void *stackaddr, size_t stacksize); // error number
int pthread_attr_setstackaddr(pthread_attr_t *attr, void *stackaddr); // error number
int pthread_attr_setstacksize(pthread_attr_t *attr, size_t stacksize); // error number
int pthread_barrier_destroy(pthread_barrier_t *barrier);
int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, unsigned int count);
int pthread_barrier_wait(pthread_barrier_t *barrier);
int pthread_barrierattr_destroy(pthread_barrierattr_t *attr);
int pthread_barrierattr_getpshared(const pthread_barrierattr_t *attr, int *pshared);
int pthread_barrierattr_init(pthread_barrierattr_t *attr);
int pthread_barrierattr_setpshared(pthread_barrierattr_t *attr, int pshared);
int pthread_cancel(pthread_t th); // error number
int pthread_clockjoin_np(pthread_t th, void **thread_return, clockid_t clockid, const struct timespec *abstime);
int pthread_cond_broadcast(pthread_cond_t *cond);
int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, __clockid_t clock_id, const struct timespec *abstime);
int pthread_cond_destroy(pthread_cond_t *cond);
int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *cond_attr);
int pthread_cond_signal(pthread_cond_t *cond);
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *abstime);
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int pthread_condattr_destroy(pthread_condattr_t *attr);
int pthread_condattr_getclock(const pthread_condattr_t *attr, __clockid_t *clock_id);
int pthread_condattr_getpshared(const pthread_condattr_t *attr, int *pshared);
int pthread_condattr_init(pthread_condattr_t *attr);
int pthread_condattr_setclock(pthread_condattr_t *attr, __clockid_t clock_id);
int pthread_condattr_setpshared(pthread_condattr_t *attr, int pshared);
int pthread_create(pthread_t *newthread, const pthread_attr_t *attr, void *(*start_routine)(void *), void *arg); // error number
int pthread_detach(pthread_t th); // error number
int pthread_equal(pthread_t thread1, pthread_t thread2);
void pthread_exit(void *retval); // does not return
int pthread_getaffinity_np(pthread_t th, size_t cpusetsize, cpu_set_t *cpuset); // error number
int pthread_getattr_default_np(pthread_attr_t *attr);
int pthread_getattr_np(pthread_t th, pthread_attr_t *attr); // error number
int pthread_getconcurrency(void);
int pthread_getcpuclockid(pthread_t thread_id, __clockid_t *clock_id); // error number
int pthread_getname_np(pthread_t target_thread, char *buf, size_t buflen); // error number
int pthread_getschedparam(pthread_t target_thread, int *policy, struct sched_param *param); // error number
void *pthread_getspecific(pthread_key_t key);
int pthread_join(pthread_t th, void **thread_return); // error number
int pthread_key_create(pthread_key_t *key, void (*destr_function)(void *));
int pthread_key_delete(pthread_key_t key);
int pthread_kill(pthread_t threadid, enum signal_number signo); // error number
int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clockid, const struct timespec *abstime);
int pthread_mutex_consistent(pthread_mutex_t *mutex); // error number
int pthread_mutex_consistent_np(pthread_mutex_t *arg1); // error number
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_getprioceiling(const pthread_mutex_t *mutex, int *prioceiling);
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *mutexattr);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_setprioceiling(pthread_mutex_t *mutex, int prioceiling, int *old_ceiling);
int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *abstime);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_mutexattr_destroy(pthread_mutexattr_t *attr);
int pthread_mutexattr_getprioceiling(const pthread_mutexattr_t *attr, int *prioceiling);
int pthread_mutexattr_getprotocol(const pthread_mutexattr_t *attr, int *protocol);
int pthread_mutexattr_getpshared(const pthread_mutexattr_t *attr, int *pshared); // error number
int pthread_mutexattr_getrobust(const pthread_mutexattr_t *attr, int *robustness); // error number
int pthread_mutexattr_getrobust_np(pthread_mutexattr_t *arg1, int *arg2); // error number
int pthread_mutexattr_gettype(const pthread_mutexattr_t *attr, int *kind);
int pthread_mutexattr_init(pthread_mutexattr_t *attr);
int pthread_mutexattr_setprioceiling(pthread_mutexattr_t *attr, int prioceiling);
int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attr, int protocol);
int pthread_mutexattr_setpshared(pthread_mutexattr_t *attr, int pshared); // error number
int pthread_mutexattr_setrobust(pthread_mutexattr_t *attr, int robustness); // error number
int pthread_mutexattr_setrobust_np(pthread_mutexattr_t *arg1, int arg2); // error number
int pthread_mutexattr_settype(pthread_mutexattr_t *attr, int kind);
int pthread_once(pthread_once_t *once_control, void (*init_routine)(void));
int pthread_rwlock_clockrdlock(pthread_rwlock_t *rwlock, clockid_t clockid, const struct timespec *abstime);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *rwlock, clockid_t clockid, const struct timespec *abstime);
int pthread_rwlock_destroy(pthread_rwlock_t *rwlock);
int pthread_rwlock_init(pthread_rwlock_t *rwlock, const pthread_rwlockattr_t *attr);
int pthread_rwlock_rdlock(pthread_rwlock_t *rwlock);
int pthread_rwlock_timedrdlock(pthread_rwlock_t *rwlock, const struct timespec *abstime);
int pthread_rwlock_timedwrlock(pthread_rwlock_t *rwlock, const struct timespec *abstime);
int pthread_rwlock_tryrdlock(pthread_rwlock_t *rwlock);
int pthread_rwlock_trywrlock(pthread_rwlock_t *rwlock);
int pthread_rwlock_unlock(pthread_rwlock_t *rwlock);
int pthread_rwlock_wrlock(pthread_rwlock_t *rwlock);
int pthread_rwlockattr_destroy(pthread_rwlockattr_t *attr);
int pthread_rwlockattr_getkind_np(const pthread_rwlockattr_t *attr, int *pref);
int pthread_rwlockattr_getpshared(const pthread_rwlockattr_t *attr, int *pshared);
int pthread_rwlockattr_init(pthread_rwlockattr_t *attr);
int pthread_rwlockattr_setkind_np(pthread_rwlockattr_t *attr, int pref); // error number
int pthread_rwlockattr_setpshared(pthread_rwlockattr_t *attr, int pshared);
pthread_t pthread_self(void);
int pthread_setaffinity_np(pthread_t th, size_t cpusetsize, const cpu_set_t *cpuset); // error number
int pthread_setattr_default_np(const pthread_attr_t *attr);
int pthread_setcancelstate(int state, int *oldstate); // error number
int pthread_setcanceltype(int type, int *oldtype); // error number
int pthread_setconcurrency(int level); // error number
int pthread_setname_np(pthread_t target_thread, const char *name); // error number
int pthread_setschedparam(pthread_t target_thread, int policy, const struct sched_param *param); // error number
int pthread_setschedprio(pthread_t target_thread, int prio); // error number
int pthread_setspecific(pthread_key_t key, const void *pointer);
int pthread_sigmask(enum sigprocmask_how how, const __sigset_t *newmask, __sigset_t *oldmask); // error number
int pthread_spin_destroy(pthread_spinlock_t *lock); // error number
int pthread_spin_init(pthread_spinlock_t *lock, int pshared); // error number
int pthread_spin_lock(pthread_spinlock_t *lock); // error number
int pthread_spin_trylock(pthread_spinlock_t *lock); // error number
int pthread_spin_unlock(pthread_spinlock_t *lock); // error number
void pthread_testcancel(void);
int pthread_timedjoin_np(pthread_t th, void **thread_return, const struct timespec *abstime); // error number
int pthread_tryjoin_np(pthread_t th, void **thread_return); // error number
int pthread_yield(void); // error number
long ptrace(enum __ptrace_request request, ...);
char *ptsname(int fd);
int ptsname_r(int fd, char *buf, size_t buflen); // error number
int putc(int c, FILE *stream);
int putc_unlocked(int c, FILE *stream);
int putchar(int c);
int putchar_unlocked(int c);
int putenv(char *string);
int putgrent(const struct group *p, FILE *f);
int putpwent(const struct passwd *p, FILE *f); // errno
int puts(const char *s);
int putspent(const struct spwd *p, FILE *stream);
struct utmp *pututline(const struct utmp *utmp_ptr); // errno
struct utmpx *pututxline(const struct utmpx *utmpx); // errno
int putw(int w, FILE *stream);
wint_t putwc(wchar_t wc, __FILE *stream);
wint_t putwc_unlocked(wchar_t wc, __FILE *stream);
wint_t putwchar(wchar_t wc);
wint_t putwchar_unlocked(wchar_t wc);
void *pvalloc(size_t size);
ssize_t pwrite(int fd, const void *buf, size_t nbytes, __off64_t offset); // errno
ssize_t pwrite64(int fd, const void *buf, size_t n, __off64_t offset); // errno
ssize_t pwritev(int fd, const struct iovec *iovec, int count, __off64_t offset); // errno
ssize_t pwritev2(int fd, const struct iovec *iovec, int count, __off64_t offset, enum rw_flags flags); // errno
ssize_t pwritev64(int fd, const struct iovec *iovec, int count, __off64_t offset); // errno
ssize_t pwritev64v2(int fd, const struct iovec *iodev, int count, __off64_t offset, enum rw_flags flags);
char *qecvt(long double value, int ndigit, int *decpt, int *sign);
int qecvt_r(long double value, int ndigit, int *decpt, int *sign, char *buf, size_t len);
char *qfcvt(long double value, int ndigit, int *decpt, int *sign);
int qfcvt_r(long double value, int ndigit, int *decpt, int *sign, char *buf, size_t len);
char *qgcvt(long double value, int ndigit, char *buf);
void qsort(void *base, size_t nmemb, size_t size, __compar_fn_t compar);
void qsort_r(void *base, size_t nmemb, size_t size, __compar_d_fn_t compar, void *arg);
void quick_exit(int status); // does not return
int quotactl(int cmd, const char *special, int id, __caddr_t addr); // errno
int raise(enum signal_number sig);
int rand(void);
int rand_r(unsigned int *seed);
long random(void);
int random_r(struct random_data *buf, int32_t *result); // errno
void *rawmemchr(const void *s, int c);
int rcmd(char **ahost, unsigned short rport, const char *locuser, const char *remuser, const char *cmd, int *fd2p); // errno
int rcmd_af(char **ahost, unsigned short rport, const char *locuser, const char *remuser, const char *cmd, int *fd2p, sa_family_t af); // errno
int re_compile_fastmap(struct re_pattern_buffer *buffer);
const char *re_compile_pattern(const char *pattern, size_t length, struct re_pattern_buffer *buffer);
regoff_t re_match(struct re_pattern_buffer *buffer, const char *String, regoff_t length, regoff_t start, struct re_registers *regs);
regoff_t re_match_2(struct re_pattern_buffer *buffer, const char *string1, regoff_t length1, const char *string2, regoff_t length2, regoff_t start, struct re_registers *regs, regoff_t stop);
regoff_t re_search(struct re_pattern_buffer *buffer, const char *String, regoff_t length, regoff_t start, regoff_t range, struct re_registers *regs);
regoff_t re_search_2(struct re_pattern_buffer *buffer, const char *string1, regoff_t length1, const char *string2, regoff_t length2, regoff_t start, regoff_t range, struct re_registers *regs, regoff_t stop);
void re_set_registers(struct re_pattern_buffer *buffer, struct re_registers *regs, __re_size_t num_regs, regoff_t *starts, regoff_t *ends);
reg_syntax_t re_set_syntax(reg_syntax_t syntax);
ssize_t read(int fd, void *buf, size_t nbytes); // errno
__ssize_t readahead(int fd, __off64_t offset, size_t count); // errno
struct dirent *readdir(DIR *dirp);
struct dirent64 *readdir64(DIR *dirp);
int readdir64_r(DIR *dirp, struct dirent64 *entry, struct dirent64 **result); // error number
int readdir_r(DIR *dirp, struct dirent *entry, struct dirent **result); // error number
ssize_t readlink(const char *path, char *buf, size_t len); // errno
ssize_t readlinkat(enum directory_fd fd, const char *path, char *buf, size_t len); // errno
ssize_t readv(int fd, const struct iovec *iovec, int count); // errno
void *realloc(void *ptr, size_t size);
void *reallocarray(void *ptr, size_t nmemb, size_t size);
char *realpath(const char *name, char *resolved); // errno
int reboot(int howto); // errno
ssize_t recv(int fd, void *buf, size_t n, enum message_flags flags); // errno
ssize_t recvfrom(int fd, void *buf, size_t n, enum message_flags flags, struct sockaddr *addr, socklen_t *addr_len); // errno
int recvmmsg(int fd, struct mmsghdr *vmessages, unsigned int vlen, enum message_flags flags, struct timespec *tmo); // errno
ssize_t recvmsg(int fd, struct msghdr *message, enum message_flags flags); // errno
int regcomp(regex_t *preg, const char *pattern, enum regcomp_flags cflags);
size_t regerror(int errcode, const regex_t *preg, char *errbuf, size_t errbuf_size);
int regexec(const regex_t *preg, const char *String, size_t nmatch, regmatch_t *pmatch, enum regexec_flags eflags);
void regfree(regex_t *preg);
int register_printf_function(int spec, printf_function *func, printf_arginfo_function *arginfo);
int register_printf_modifier(const wchar_t *str);
int register_printf_specifier(int spec, printf_function *func, printf_arginfo_size_function *arginfo);
int register_printf_type(printf_va_arg_function *fct);
int remap_file_pages(void *start, size_t size, int prot, size_t pgoff, int flags); // errno
int remove(const char *filename); // errno
int removexattr(const char *path, const char *name); // errno
void remque(void *elem);
int rename(const char *old, const char *new); // errno
int renameat(enum directory_fd oldfd, const char *old, enum directory_fd newfd, const char *new); // errno
int renameat2(enum directory_fd oldfd, const char *old, enum directory_fd newfd, const char *new, enum rename_flags flags); // errno
int res_dnok(const char *arg1);
int res_hnok(const char *arg1);
int res_mailok(const char *arg1);
int res_mkquery(int arg1, const char *arg2, int arg3, int arg4, const unsigned char *arg5, int arg6, const unsigned char *arg7, unsigned char *arg8, int arg9);
int res_nmkquery(res_state arg1, int arg2, const char *arg3, int arg4, int arg5, const unsigned char *arg6, int arg7, const unsigned char *arg8, unsigned char *arg9, int arg10);
int res_nquery(res_state arg1, const char *arg2, int arg3, int arg4, unsigned char *arg5, int arg6);
int res_nquerydomain(res_state arg1, const char *arg2, const char *arg3, int arg4, int arg5, unsigned char *arg6, int arg7);
int res_nsearch(res_state arg1, const char *arg2, int arg3, int arg4, unsigned char *arg5, int arg6);
int res_nsend(res_state arg1, const unsigned char *arg2, int arg3, unsigned char *arg4, int arg5);
int res_ownok(const char *arg1);
int res_query(const char *arg1, int arg2, int arg3, unsigned char *arg4, int arg5);
int res_querydomain(const char *arg1, const char *arg2, int arg3, int arg4, unsigned char *arg5, int arg6);
int res_search(const char *arg1, int arg2, int arg3, unsigned char *arg4, int arg5);
int res_send(const unsigned char *arg1, int arg2, unsigned char *arg3, int arg4);
int revoke(const char *file);
void rewind(FILE *stream);
void rewinddir(DIR *dirp);
int rexec(char **ahost, int rport, const char *name, const char *pass, const char *cmd, int *fd2p);
int rexec_af(char **ahost, int rport, const char *name, const char *pass, const char *cmd, int *fd2p, sa_family_t af);
char *rindex(const char *s, int c);
int rmdir(const char *path); // errno
int rpmatch(const char *response);
int rresvport(int *alport); // errno
int rresvport_af(int *alport, sa_family_t af); // errno
int ruserok(const char *rhost, int suser, const char *remuser, const char *locuser); // errno
int ruserok_af(const char *rhost, int suser, const char *remuser, const char *locuser, sa_family_t af); // errno
void *sbrk(intptr_t delta); // errno
int scandir(const char *dir, struct dirent ***namelist, int (*selector)(const struct dirent *), int (*cmp)(const struct dirent **, const struct dirent **)); // errno
int scandir64(const char *dir, struct dirent64 ***namelist, int (*selector)(const struct dirent64 *), int (*cmp)(const struct dirent64 **, const struct dirent64 **)); // errno
int scandirat(enum directory_fd dfd, const char *dir, struct dirent ***namelist, int (*selector)(const struct dirent *), int (*cmp)(const struct dirent **, const struct dirent **)); // errno
int scandirat64(int dfd, const char *dir, struct dirent64 ***namelist, int (*selector)(const struct dirent64 *), int (*cmp)(const struct dirent64 **, const struct dirent64 **)); // errno
int scanf(const char *format, ...) __attribute__((format(scanf, 1, 2))); // errno
int sched_get_priority_max(enum scheduler algorithm); // errno
int sched_get_priority_min(enum scheduler algorithm); // errno
int sched_getaffinity(__pid_t pid, size_t cpusetsize, cpu_set_t *cpuset); // errno
int sched_getcpu(void); // errno
int sched_getparam(__pid_t pid, struct sched_param *param); // errno
int sched_getscheduler(__pid_t pid); // errno
int sched_rr_get_interval(__pid_t pid, struct timespec *t); // errno
int sched_setaffinity(__pid_t pid, size_t cpusetsize, const cpu_set_t *cpuset); // errno
int sched_setparam(__pid_t pid, const struct sched_param *param); // errno
int sched_setscheduler(__pid_t pid, enum scheduler policy, const struct sched_param *param); // errno
int sched_yield(void); // errno
char *secure_getenv(const char *name);
unsigned short *seed48(unsigned short *seed16v);
int seed48_r(unsigned short *seed16v, struct drand48_data *buffer);
void seekdir(DIR *dirp, long pos);
int select(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout); // errno
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *abstime);
int sem_close(sem_t *sem); // errno
int sem_destroy(sem_t *sem); // errno
int sem_getvalue(sem_t *sem, int *sval); // errno
int sem_init(sem_t *sem, int pshared, unsigned int value); // errno
sem_t *sem_open(const char *name, enum open_flags oflag, ...); // errno; __mode_t mode if oflag & 0x40; unsigned int value if oflag & 0x40
int sem_post(sem_t *sem); // errno
int sem_timedwait(sem_t *sem, const struct timespec *abstime); // errno
int sem_trywait(sem_t *sem); // errno
int sem_unlink(const char *name); // errno
int sem_wait(sem_t *sem); // errno
int semctl(int semid, int semnum, int cmd, ...); // errno
int semget(key_t key, int nsems, int semflg); // errno
int semop(int semid, struct sembuf *sops, size_t nsops); // errno
int semtimedop(int semid, struct sembuf *sops, size_t nsops, const struct timespec *timeout); // errno
ssize_t send(int fd, const void *buf, size_t n, enum message_flags flags); // errno
ssize_t sendfile(int out_fd, int in_fd, __off64_t *offset, size_t count); // errno
ssize_t sendfile64(int out_fd, int in_fd, __off64_t *offset, size_t count); // errno
int sendmmsg(int fd, struct mmsghdr *vmessages, unsigned int vlen, enum message_flags flags); // errno
ssize_t sendmsg(int fd, const struct msghdr *message, enum message_flags flags); // errno
ssize_t sendto(int fd, const void *buf, size_t n, enum message_flags flags, const struct sockaddr *addr, socklen_t addr_len); // errno
void setbuf(FILE *stream, char *buf);
void setbuffer(FILE *stream, char *buf, size_t size);
int setcontext(const ucontext_t *ucp); // errno
int setdomainname(const char *name, size_t len); // errno
int setegid(__gid_t gid); // errno
int setenv(const char *name, const char *value, int replace); // errno
int seteuid(__uid_t uid); // errno
int setfsgid(__gid_t gid);
int setfsuid(__uid_t uid);
int setgid(__gid_t gid); // errno
void setgrent(void);
int setgroups(size_t n, const __gid_t *groups); // errno
void sethostent(int stay_open);
int sethostid(long id); // errno
int sethostname(const char *name, size_t len); // errno
int setitimer(__itimer_which_t which, const struct itimerval *new, struct itimerval *old); // errno
int setjmp(struct __jmp_buf_tag *env);
void setlinebuf(FILE *stream);
char *setlocale(enum locale_category category, const char *locale);
int setlogin(const char *name);
int setlogmask(int mask);
FILE *setmntent(const char *file, const char *mode);
void setnetent(int stay_open);
int setnetgrent(const char *netgroup);
int setns(int fd, enum namespace_types nstype); // errno
int setpgid(__pid_t pid, __pid_t pgid); // errno
int setpgrp(void); // errno
int setpriority(__priority_which_t which, id_t who, int prio);
void setprotoent(int stay_open);
void setpwent(void);
int setregid(__gid_t rgid, __gid_t egid); // errno
int setresgid(__gid_t rgid, __gid_t egid, __gid_t sgid); // errno
int setresuid(__uid_t ruid, __uid_t euid, __uid_t suid); // errno
int setreuid(__uid_t ruid, __uid_t euid); // errno
int setrlimit(enum resource_limit resource, const struct rlimit *rlimits); // errno
int setrlimit64(enum resource_limit resource, const struct rlimit64 *rlimits); // errno
void setrpcent(int stayopen);
void setservent(int stay_open);
__pid_t setsid(void); // errno
int setsockopt(int fd, enum socket_level level, int optname, const void *optval, socklen_t optlen); // errno
int setsourcefilter(int s, uint32_t interface_addr, const struct sockaddr *group, socklen_t grouplen, uint32_t fmode, uint32_t numsrc, const struct sockaddr_storage *slist);
void setspent(void);
char *setstate(char *statebuf); // errno
int setstate_r(char *statebuf, struct random_data *buf); // errno
int settimeofday(const struct timeval *tv, const struct timezone *tz); // errno
int setuid(__uid_t uid); // errno
void setusershell(void);
void setutent(void);
void setutxent(void);
int setvbuf(FILE *stream, char *buf, enum buffering modes, size_t n);
int setxattr(const char *path, const char *name, const void *value, size_t size, enum xattr_flags flags); // errno
struct spwd *sgetspent(const char *string);
int sgetspent_r(const char *string, struct spwd *result_buf, char *buffer, size_t buflen, struct spwd **result);
int shm_open(const char *name, enum open_flags oflag, mode_t mode); // errno
int shm_unlink(const char *name); // errno
void *shmat(int shmid, const void *shmaddr, enum shmat_flags shmflg); // errno
int shmctl(int shmid, int cmd, struct shmid_ds *buf); // errno
int shmdt(const void *shmaddr); // errno
int shmget(key_t key, size_t size, int shmflg); // errno
int shutdown(int fd, enum shutdown_how how); // errno
const char *sigabbrev_np(enum signal_number sig);
int sigaction(enum signal_number sig, const struct sigaction *act, struct sigaction *oact); // errno
int sigaddset(sigset_t *set, enum signal_number signo); // errno
int sigaltstack(const stack_t *ss, stack_t *oss); // errno
int sigandset(sigset_t *set, const sigset_t *left, const sigset_t *right); // errno
int sigblock(int mask); // errno
int sigdelset(sigset_t *set, enum signal_number signo); // errno
const char *sigdescr_np(enum signal_number sig);
int sigemptyset(sigset_t *set); // errno
int sigfillset(sigset_t *set); // errno
int siggetmask(void); // errno
int sighold(enum signal_number sig); // errno
int sigignore(enum signal_number sig); // errno
int siginterrupt(enum signal_number sig, int interrupt); // errno
int sigisemptyset(const sigset_t *set); // errno
int sigismember(const sigset_t *set, enum signal_number signo); // errno
void siglongjmp(struct __jmp_buf_tag *env, int val); // does not return
__sighandler_t signal(enum signal_number sig, __sighandler_t handler);
int signalfd(int fd, const sigset_t *mask, enum signalfd_flags flags); // errno
int sigorset(sigset_t *set, const sigset_t *left, const sigset_t *right); // errno
int sigpause(int sig); // errno
int sigpending(sigset_t *set); // errno
int sigprocmask(enum sigprocmask_how how, const sigset_t *set, sigset_t *oset); // errno
int sigrelse(enum signal_number sig); // errno
int sigreturn(struct sigcontext *scp);
__sighandler_t sigset(enum signal_number sig, __sighandler_t disp); // errno
int sigsetmask(int mask); // errno
int sigstack(struct sigstack *ss, struct sigstack *oss); // errno
int sigsuspend(const sigset_t *set); // errno
int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout); // errno
int sigwait(const sigset_t *set, int *sig); // error number
int sigwaitinfo(const sigset_t *set, siginfo_t *info); // errno
unsigned int sleep(unsigned int seconds);
int snprintf(char *s, size_t maxlen, const char *format, ...) __attribute__((format(printf, 3, 4)));
int sockatmark(int fd); // errno
int socket(enum address_family domain, enum socket_type type, int protocol); // errno
int socketpair(enum address_family domain, enum socket_type type, int protocol, int *fds); // errno
__ssize_t splice(int fdin, __off64_t *offin, int fdout, __off64_t *offout, size_t len, enum splice_flags flags); // errno
int sprintf(char *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void srand(unsigned int seed);
void srand48(long seedval);
int srand48_r(long seedval, struct drand48_data *buffer);
void srandom(unsigned int seed);
int srandom_r(unsigned int seed, struct random_data *buf); // errno
int sscanf(const char *s, const char *format, ...) __attribute__((format(scanf, 2, 3))); // errno
__sighandler_t ssignal(enum signal_number sig, __sighandler_t handler);
int stat(const char *file, struct stat *buf); // errno
int stat64(const char *file, struct stat64 *buf); // errno
int statfs(const char *file, struct statfs *buf); // errno
int statfs64(const char *file, struct statfs64 *buf); // errno
int statvfs(const char *file, struct statvfs *buf); // errno
int statvfs64(const char *file, struct statvfs64 *buf); // errno
int statx(enum directory_fd dirfd, const char *path, enum statx_flags flags, enum statx_mask mask, struct statx *buf); // errno
char *stpcpy(char *dest, const char *src);
char *stpncpy(char *dest, const char *src, size_t n);
int strcasecmp(const char *s1, const char *s2);
int strcasecmp_l(const char *s1, const char *s2, locale_t loc);
char *strcasestr(const char *haystack, const char *needle);
char *strcat(char *dest, const char *src);
char *strchr(const char *s, int c);
char *strchrnul(const char *s, int c);
int strcmp(const char *s1, const char *s2);
int strcoll(const char *s1, const char *s2);
int strcoll_l(const char *s1, const char *s2, locale_t l);
char *strcpy(char *dest, const char *src);
unsigned long strcspn(const char *s, const char *reject);
char *strdup(const char *s); // errno
char *strerror(int errnum);
char *strerror_l(int errnum, locale_t l);
char *strerror_r(int errnum, char *buf, size_t buflen);
const char *strerrordesc_np(int err);
const char *strerrorname_np(int err);
int strfromd(char *dest, size_t size, const char *format, double f);
int strfromf(char *dest, size_t size, const char *format, float f);
int strfromf32(char *dest, size_t size, const char *format, _Float32 f);
int strfromf32x(char *dest, size_t size, const char *format, _Float32x f);
int strfromf64(char *dest, size_t size, const char *format, _Float64 f);
int strfromf64x(char *dest, size_t size, const char *format, _Float64x f);
int strfroml(char *dest, size_t size, const char *format, long double f);
char *strfry(char *string);
size_t strftime(char *s, size_t maxsize, const char *format, const struct tm *tp);
size_t strftime_l(char *s, size_t maxsize, const char *format, const struct tm *tp, locale_t loc);
unsigned long strlen(const char *s);
int strncasecmp(const char *s1, const char *s2, size_t n);
int strncasecmp_l(const char *s1, const char *s2, size_t n, locale_t loc);
char *strncat(char *dest, const char *src, size_t n);
int strncmp(const char *s1, const char *s2, size_t n);
char *strncpy(char *dest, const char *src, size_t n);
char *strndup(const char *string, size_t n); // errno
size_t strnlen(const char *string, size_t maxlen);
char *strpbrk(const char *s, const char *accept);
char *strptime(const char *s, const char *fmt, struct tm *tp);
char *strptime_l(const char *s, const char *fmt, struct tm *tp, locale_t loc);
char *strrchr(const char *s, int c);
char *strsep(char **stringp, const char *delim);
char *strsignal(enum signal_number sig);
unsigned long strspn(const char *s, const char *accept);
char *strstr(const char *haystack, const char *needle);
double strtod(const char *nptr, char **endptr);
double strtod_l(const char *nptr, char **endptr, locale_t loc);
float strtof(const char *nptr, char **endptr);
_Float32 strtof32(const char *nptr, char **endptr);
_Float32 strtof32_l(const char *nptr, char **endptr, locale_t loc);
_Float32x strtof32x(const char *nptr, char **endptr);
_Float32x strtof32x_l(const char *nptr, char **endptr, locale_t loc);
_Float64 strtof64(const char *nptr, char **endptr);
_Float64 strtof64_l(const char *nptr, char **endptr, locale_t loc);
_Float64x strtof64x(const char *nptr, char **endptr);
_Float64x strtof64x_l(const char *nptr, char **endptr, locale_t loc);
float strtof_l(const char *nptr, char **endptr, locale_t loc);
intmax_t strtoimax(const char *nptr, char **endptr, int base);
char *strtok(char *s, const char *delim);
char *strtok_r(char *s, const char *delim, char **save_ptr);
long strtol(const char *nptr, char **endptr, int base);
long strtol_l(const char *nptr, char **endptr, int base, locale_t loc);
long double strtold(const char *nptr, char **endptr);
long double strtold_l(const char *nptr, char **endptr, locale_t loc);
long long strtoll(const char *nptr, char **endptr, int base);
long long strtoll_l(const char *nptr, char **endptr, int base, locale_t loc);
long long strtoq(const char *nptr, char **endptr, int base);
unsigned long strtoul(const char *nptr, char **endptr, int base);
unsigned long strtoul_l(const char *nptr, char **endptr, int base, locale_t loc);
unsigned long long strtoull(const char *nptr, char **endptr, int base);
unsigned long long strtoull_l(const char *nptr, char **endptr, int base, locale_t loc);
uintmax_t strtoumax(const char *nptr, char **endptr, int base);
unsigned long long strtouq(const char *nptr, char **endptr, int base);
int strverscmp(const char *s1, const char *s2);
unsigned long strxfrm(char *dest, const char *src, size_t n);
size_t strxfrm_l(char *dest, const char *src, size_t n, locale_t l);
void swab(const void *from, void *to, ssize_t n);
int swapcontext(ucontext_t *oucp, const ucontext_t *ucp); // errno
int swapoff(const char *path); // errno
int swapon(const char *path, int flags); // errno
int swprintf(wchar_t *s, size_t n, const wchar_t *format, ...);
int swscanf(const wchar_t *s, const wchar_t *format, ...);
int symlink(const char *from, const char *to); // errno
int symlinkat(const char *from, enum directory_fd tofd, const char *to); // errno
void sync(void);
int sync_file_range(int fd, __off64_t offset, __off64_t count, enum sync_file_range_flags flags); // errno
int syncfs(int fd); // errno
long syscall(enum syscall_number sysno, ...);
long sysconf(enum sysconf_name name);
int sysinfo(struct sysinfo *info); // errno
void syslog(int pri, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int system(const char *command); // errno
__sighandler_t sysv_signal(int sig, __sighandler_t handler);
int tcdrain(int fd); // errno
int tcflow(int fd, int action); // errno
int tcflush(int fd, enum terminal_queue queue_selector); // errno
int tcgetattr(int fd, struct termios *termios_p); // errno
__pid_t tcgetpgrp(int fd); // errno
__pid_t tcgetsid(int fd); // errno
int tcsendbreak(int fd, int duration); // errno
int tcsetattr(int fd, enum terminal_actions optional_actions, const struct termios *termios_p); // errno
int tcsetpgrp(int fd, __pid_t pgrp_id); // errno
void *tdelete(const void *key, void **rootp, __compar_fn_t compar);
void tdestroy(void *root, __free_fn_t freefct);
__ssize_t tee(int fdin, int fdout, size_t len, enum splice_flags flags); // errno
long telldir(DIR *dirp); // errno
char *tempnam(const char *dir, const char *pfx); // errno
char *textdomain(const char *domainname); // errno
void *tfind(const void *key, void *const *rootp, __compar_fn_t compar);
int tgkill(__pid_t tgid, __pid_t tid, enum signal_number signal); // errno
int thrd_create(thrd_t *thr, thrd_start_t func, void *arg);
thrd_t thrd_current(void);
int thrd_detach(thrd_t thr);
int thrd_equal(thrd_t lhs, thrd_t rhs);
void thrd_exit(int res); // does not return
int thrd_join(thrd_t thr, int *res);
int thrd_sleep(const struct timespec *time_point, struct timespec *remaining);
void thrd_yield(void);
time_t time(time_t *timer);
time_t timegm(struct tm *tp);
time_t timelocal(struct tm *tp);
int timer_create(enum clock clock_id, struct sigevent *evp, timer_t *timerid); // errno
int timer_delete(timer_t timerid); // errno
int timer_getoverrun(timer_t timerid); // errno
int timer_gettime(timer_t timerid, struct itimerspec *value); // errno
int timer_settime(timer_t timerid, enum timer_flags flags, const struct itimerspec *value, struct itimerspec *ovalue); // errno
int timerfd_create(enum clock clock_id, enum timerfd_flags flags); // errno
int timerfd_gettime(int ufd, struct itimerspec *otmr); // errno
int timerfd_settime(int ufd, enum timerfd_timer_flags flags, const struct itimerspec *utmr, struct itimerspec *otmr); // errno
clock_t times(struct tms *buffer); // errno
int timespec_get(struct timespec *ts, int base);
int timespec_getres(struct timespec *ts, int base);
FILE *tmpfile(void); // errno
FILE *tmpfile64(void); // errno
char *tmpnam(char *arg1);
char *tmpnam_r(char *s);
int toascii(int c);
int tolower(int c);
int tolower_l(int c, locale_t l);
int toupper(int c);
int toupper_l(int c, locale_t l);
wint_t towctrans(wint_t wc, wctrans_t desc);
wint_t towctrans_l(wint_t wc, wctrans_t desc, locale_t locale);
wint_t towlower(wint_t wc);
wint_t towlower_l(wint_t wc, locale_t locale);
wint_t towupper(wint_t wc);
wint_t towupper_l(wint_t wc, locale_t locale);
int truncate(const char *file, __off64_t length); // errno
int truncate64(const char *file, __off64_t length); // errno
void *tsearch(const void *key, void **rootp, __compar_fn_t compar);
int tss_create(tss_t *tss_id, tss_dtor_t destructor);
void tss_delete(tss_t tss_id);
void *tss_get(tss_t tss_id);
int tss_set(tss_t tss_id, void *val);
char *ttyname(int fd); // errno
int ttyname_r(int fd, char *buf, size_t buflen);
int ttyslot(void);
void twalk(const void *root, __action_fn_t action);
void twalk_r(const void *root, void (*arg2)(const void *, VISIT, void *), void *closure);
void tzset(void);
__useconds_t ualarm(__useconds_t value, __useconds_t interval);
int ulckpwdf(void);
long ulimit(int cmd, ...); // errno
__mode_t umask(__mode_t mask);
int umount(const char *special_file); // errno
int umount2(const char *special_file, enum umount_flags flags); // errno
int uname(struct utsname *name); // errno
int ungetc(int c, FILE *stream);
wint_t ungetwc(wint_t wc, __FILE *stream);
int unlink(const char *name); // errno
int unlinkat(enum directory_fd fd, const char *name, enum unlinkat_flags flag); // errno
int unlockpt(int fd); // errno
int unsetenv(const char *name); // errno
int unshare(enum unshare_flags flags); // errno
void updwtmp(const char *wtmp_file, const struct utmp *utmp);
void updwtmpx(const char *wtmpx_file, const struct utmpx *utmpx);
locale_t uselocale(locale_t dataset);
int usleep(__useconds_t useconds); // errno
int utime(const char *file, const struct utimbuf *file_times); // errno
int utimensat(enum directory_fd fd, const char *path, const struct timespec *times, enum fstatat_flags flags); // errno
int utimes(const char *file, const struct timeval *tvp); // errno
int utmpname(const char *file); // errno
int utmpxname(const char *file); // errno
void *valloc(size_t size);
int vasprintf(char **ptr, const char *f, struct __va_list_tag *arg);
int vdprintf(int fd, const char *fmt, struct __va_list_tag *arg);
void verr(int status, const char *format, struct __va_list_tag *arg3); // does not return
void verrx(int status, const char *arg2, struct __va_list_tag *arg3); // does not return
int versionsort(const struct dirent **e1, const struct dirent **e2);
int versionsort64(const struct dirent64 **e1, const struct dirent64 **e2);
int vfork(void);
int vfprintf(FILE *s, const char *format, struct __va_list_tag *arg);
int vfscanf(FILE *s, const char *format, struct __va_list_tag *arg); // errno
int vfwprintf(__FILE *s, const wchar_t *format, struct __va_list_tag *arg);
int vfwscanf(__FILE *s, const wchar_t *format, struct __va_list_tag *arg);
int vhangup(void); // errno
__ssize_t vmsplice(int fdout, const struct iovec *iov, size_t count, enum splice_flags flags); // errno
int vprintf(const char *format, struct __va_list_tag *arg);
int vscanf(const char *format, struct __va_list_tag *arg); // errno
int vsnprintf(char *s, size_t maxlen, const char *format, struct __va_list_tag *arg);
int vsprintf(char *s, const char *format, struct __va_list_tag *arg);
int vsscanf(const char *s, const char *format, struct __va_list_tag *arg); // errno
int vswprintf(wchar_t *s, size_t n, const wchar_t *format, struct __va_list_tag *arg);
int vswscanf(const wchar_t *s, const wchar_t *format, struct __va_list_tag *arg);
void vsyslog(int pri, const char *fmt, struct __va_list_tag *ap);
void vwarn(const char *format, struct __va_list_tag *arg2);
void vwarnx(const char *format, struct __va_list_tag *arg2);
int vwprintf(const wchar_t *format, struct __va_list_tag *arg);
int vwscanf(const wchar_t *format, struct __va_list_tag *arg);
__pid_t wait(int *stat_loc); // errno
__pid_t wait3(int *stat_loc, enum wait_options options, struct rusage *usage);
__pid_t wait4(__pid_t pid, int *stat_loc, enum wait_options options, struct rusage *usage);
int waitid(idtype_t idtype, __id_t id, siginfo_t *infop, enum wait_options options); // errno
__pid_t waitpid(__pid_t pid, int *stat_loc, enum wait_options options); // errno
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warnx(const char *format, ...) __attribute__((format(printf, 1, 2)));
wchar_t *wcpcpy(wchar_t *dest, const wchar_t *src);
wchar_t *wcpncpy(wchar_t *dest, const wchar_t *src, size_t n);
size_t wcrtomb(char *s, wchar_t wc, mbstate_t *ps);
int wcscasecmp(const wchar_t *s1, const wchar_t *s2);
int wcscasecmp_l(const wchar_t *s1, const wchar_t *s2, locale_t loc);
wchar_t *wcscat(wchar_t *dest, const wchar_t *src);
int *wcschr(const wchar_t *wcs, wchar_t wc);
wchar_t *wcschrnul(const wchar_t *s, wchar_t wc);
int wcscmp(const wchar_t *s1, const wchar_t *s2);
int wcscoll(const wchar_t *s1, const wchar_t *s2);
int wcscoll_l(const wchar_t *s1, const wchar_t *s2, locale_t loc);
wchar_t *wcscpy(wchar_t *dest, const wchar_t *src);
size_t wcscspn(const wchar_t *wcs, const wchar_t *reject);
wchar_t *wcsdup(const wchar_t *s); // errno
size_t wcsftime(wchar_t *s, size_t maxsize, const wchar_t *format, const struct tm *tp);
size_t wcsftime_l(wchar_t *s, size_t maxsize, const wchar_t *format, const struct tm *tp, locale_t loc);
unsigned long wcslen(const wchar_t *s);
int wcsncasecmp(const wchar_t *s1, const wchar_t *s2, size_t n);
int wcsncasecmp_l(const wchar_t *s1, const wchar_t *s2, size_t n, locale_t loc);
wchar_t *wcsncat(wchar_t *dest, const wchar_t *src, size_t n);
int wcsncmp(const wchar_t *s1, const wchar_t *s2, size_t n);
wchar_t *wcsncpy(wchar_t *dest, const wchar_t *src, size_t n);
size_t wcsnlen(const wchar_t *s, size_t maxlen);
size_t wcsnrtombs(char *dst, const wchar_t **src, size_t nwc, size_t len, mbstate_t *ps);
wchar_t *wcspbrk(const wchar_t *wcs, const wchar_t *accept);
wchar_t *wcsrchr(const wchar_t *wcs, wchar_t wc);
size_t wcsrtombs(char *dst, const wchar_t **src, size_t len, mbstate_t *ps);
size_t wcsspn(const wchar_t *wcs, const wchar_t *accept);
wchar_t *wcsstr(const wchar_t *haystack, const wchar_t *needle);
double wcstod(const wchar_t *nptr, wchar_t **endptr);
double wcstod_l(const wchar_t *nptr, wchar_t **endptr, locale_t loc);
float wcstof(const wchar_t *nptr, wchar_t **endptr);
_Float32 wcstof32(const wchar_t *nptr, wchar_t **endptr);
_Float32 wcstof32_l(const wchar_t *nptr, wchar_t **endptr, locale_t loc);
_Float32x wcstof32x(const wchar_t *nptr, wchar_t **endptr);
_Float32x wcstof32x_l(const wchar_t *nptr, wchar_t **endptr, locale_t loc);
_Float64 wcstof64(const wchar_t *nptr, wchar_t **endptr);
_Float64 wcstof64_l(const wchar_t *nptr, wchar_t **endptr, locale_t loc);
_Float64x wcstof64x(const wchar_t *nptr, wchar_t **endptr);
_Float64x wcstof64x_l(const wchar_t *nptr, wchar_t **endptr, locale_t loc);
float wcstof_l(const wchar_t *nptr, wchar_t **endptr, locale_t loc);
intmax_t wcstoimax(const __gwchar_t *nptr, __gwchar_t **endptr, int base);
wchar_t *wcstok(wchar_t *s, const wchar_t *delim, wchar_t **ptr);
long wcstol(const wchar_t *nptr, wchar_t **endptr, int base);
long wcstol_l(const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc);
long double wcstold(const wchar_t *nptr, wchar_t **endptr);
long double wcstold_l(const wchar_t *nptr, wchar_t **endptr, locale_t loc);
long long wcstoll(const wchar_t *nptr, wchar_t **endptr, int base);
long long wcstoll_l(const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc);
size_t wcstombs(char *s, const wchar_t *pwcs, size_t n);
long long wcstoq(const wchar_t *nptr, wchar_t **endptr, int base);
unsigned long wcstoul(const wchar_t *nptr, wchar_t **endptr, int base);
unsigned long wcstoul_l(const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc);
unsigned long long wcstoull(const wchar_t *nptr, wchar_t **endptr, int base);
unsigned long long wcstoull_l(const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc);
uintmax_t wcstoumax(const __gwchar_t *nptr, __gwchar_t **endptr, int base);
unsigned long long wcstouq(const wchar_t *nptr, wchar_t **endptr, int base);
wchar_t *wcswcs(const wchar_t *haystack, const wchar_t *needle);
int wcswidth(const wchar_t *s, size_t n);
size_t wcsxfrm(wchar_t *s1, const wchar_t *s2, size_t n);
size_t wcsxfrm_l(wchar_t *s1, const wchar_t *s2, size_t n, locale_t loc);
int wctob(wint_t c);
int wctomb(char *s, wchar_t wchar);
wctrans_t wctrans(const char *property);
wctrans_t wctrans_l(const char *property, locale_t locale);
wctype_t wctype(const char *property);
wctype_t wctype_l(const char *property, locale_t locale);
int wcwidth(wchar_t c);
int *wmemchr(const wchar_t *s, wchar_t c, size_t n);
int wmemcmp(const wchar_t *s1, const wchar_t *s2, size_t n);
int *wmemcpy(wchar_t *s1, const wchar_t *s2, size_t n);
int *wmemmove(wchar_t *s1, const wchar_t *s2, size_t n);
wchar_t *wmempcpy(wchar_t *s1, const wchar_t *s2, size_t n);
wchar_t *wmemset(wchar_t *s, wchar_t c, size_t n);
int wordexp(const char *words, wordexp_t *pwordexp, int flags);
void wordfree(wordexp_t *wordexp);
int wprintf(const wchar_t *format, ...);
ssize_t write(int fd, const void *buf, size_t n); // errno
ssize_t writev(int fd, const struct iovec *iovec, int count); // errno
int wscanf(const wchar_t *format, ...);
