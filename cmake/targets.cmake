# SPDX-License-Identifier: MIT
# The one list of targets. Sources are found by folder and by ending (docs/ARCHITECTURE.md):
#   *_hot.cc, *.S   the probe path, a library of its own     *_test.cc   unit tests, beside the unit
#   *_fuzz.cc       libFuzzer targets                        *_bench.cc  Google Benchmark programs
find_package(Threads REQUIRED)
find_package(zydis REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(FUSE3 REQUIRED IMPORTED_TARGET fuse3)  # the tool's alone, never the agent's
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw libelf)  # too
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)  # too: exports
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)  # too, as libdw has it
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)     # too
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)  # too
# Only its headers: the library is loaded when it is needed.
pkg_check_modules(CURL REQUIRED libcurl)
find_package(GTest)
find_package(benchmark)

include(cmake/precompiled.cmake)
include(cmake/unity.cmake)
include(cmake/asm_offsets.cmake)
include(cmake/zydis.cmake)
include(cmake/portable.cmake)
pb_library(pb_fuse FUSE3)
pb_library(pb_libdw LIBDW)
pb_library(pb_zstd ZSTD)
pb_library(pb_lzma LZMA)
pb_library(pb_zlib ZLIB)
pb_library(pb_sqlite SQLITE)

add_library(pb_options INTERFACE)
target_include_directories(pb_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(pb_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
# Functions and lines, for stacks of what is installed. Variables and types (preset debug has them)
# take a fifth of the time of a build.
target_compile_options(pb_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-g1>)
target_compile_definitions(pb_options INTERFACE _GNU_SOURCE PATCHBAY_VERSION="${PROJECT_VERSION}")
if(PATCHBAY_WERROR)
  target_compile_options(pb_options INTERFACE -Werror)
endif()
if(PATCHBAY_SANITIZE)
  add_library(pb_sanitize INTERFACE)
  # Not of a target that says PB_UNSANITIZED.
  set(sanitized $<NOT:$<BOOL:$<TARGET_PROPERTY:PB_UNSANITIZED>>>)
  target_compile_options(pb_sanitize INTERFACE
    $<${sanitized}:-fsanitize=${PATCHBAY_SANITIZE}> -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>  # fences: used where TSan need not follow them
    # ASan sees what a null pointer is used for, and RTTI is a quarter of the code then. A program's
    # signal handler is called with three arguments whatever its type, as the kernel does.
    $<$<AND:$<CXX_COMPILER_ID:Clang>,${sanitized}>:-fno-sanitize=vptr,null,function>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND PATCHBAY_SANITIZE MATCHES "address")
    target_compile_definitions(pb_sanitize INTERFACE __SANITIZE_ADDRESS__=1)  # as GCC says it
  endif()
  target_link_options(pb_sanitize INTERFACE -fsanitize=${PATCHBAY_SANITIZE})
endif()
add_library(pb_san INTERFACE)
if(TARGET pb_sanitize)
  target_link_libraries(pb_san INTERFACE pb_sanitize)
endif()

# --- the probe path: what a traced thread runs. General registers only, no C++ runtime, never
# sanitized.
file(GLOB_RECURSE hot_sources CONFIGURE_DEPENDS src/*_hot.cc src/*.S)
# What is exported is in no archive; the tool's instructions for other processes are its own.
list(FILTER hot_sources EXCLUDE REGEX "/src/(api|attach)/")
add_library(pb_hot STATIC ${hot_sources})
target_link_libraries(pb_hot PUBLIC pb_options)
# What assembler code includes: the preprocessor's dependencies bring it up to date.
add_dependencies(pb_hot asm_offsets)
target_include_directories(pb_hot PRIVATE
  $<$<COMPILE_LANGUAGE:ASM>:${CMAKE_BINARY_DIR}/generated>)
target_compile_options(pb_hot PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:-O2 -g -mgeneral-regs-only -fno-exceptions -fno-rtti
    -fno-stack-protector -fno-builtin -ffreestanding -fcf-protection=none -ftls-model=initial-exec
    -U_FORTIFY_SOURCE>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(pb_hot PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-tree-loop-distribute-patterns>)
else()
  target_compile_options(pb_hot PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused-command-line-argument
      -Wno-ignored-optimization-argument>)
endif()

# --- everything else that agent, tool and tests share
file(GLOB_RECURSE core_sources CONFIGURE_DEPENDS src/*.cc)
list(FILTER core_sources EXCLUDE REGEX
  "_(hot|test|fuzz|bench)\\.cc$|/asm_offsets\\.cc$|/src/(agent|api|attach|debug_info|export|ship)/")
add_library(pb_core STATIC ${core_sources})
target_link_libraries(pb_core PUBLIC pb_options pb_san pb_hot Threads::Threads
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:PB_ENCLOSES_ZYDIS>>>:Zydis::Zydis>)
pb_precompile(pb_core)
pb_unity(pb_core)
# Each function in a section of its own: the linker drops those that nothing needs, and lays those
# of the agent's start beside each other (cmake/start_order.cmake).
set(function_sections $<$<NOT:$<CONFIG:Debug>>:-ffunction-sections>)
target_compile_options(pb_core PRIVATE ${function_sections})

# --- the agent: one closed shared object (see src/agent/agent.map for what it exports)
file(GLOB_RECURSE agent_sources CONFIGURE_DEPENDS src/agent/*.cc src/api/*.cc src/api/*.S)
list(FILTER agent_sources EXCLUDE REGEX "_(hot|test|fuzz|bench)\\.cc$|/asm_offsets\\.cc$")
add_library(patchbay_agent SHARED ${agent_sources})
set_target_properties(patchbay_agent PROPERTIES
  OUTPUT_NAME patchbay VERSION ${PROJECT_VERSION} SOVERSION 0 PB_ENCLOSES_ZYDIS ON)
target_link_libraries(patchbay_agent PRIVATE pb_core pb_hot)
pb_enclose_zydis(patchbay_agent ZydisDecoderInit ZydisDecoderDecodeInstruction
  ZydisDecoderDecodeOperands)
if(NOT PATCHBAY_SANITIZE)
  include(cmake/start_order.cmake)
  pb_order_start(patchbay_agent)
endif()
add_dependencies(patchbay_agent asm_offsets)
target_include_directories(patchbay_agent PRIVATE
  $<$<COMPILE_LANGUAGE:ASM>:${CMAKE_BINARY_DIR}/generated>)
target_compile_options(patchbay_agent PRIVATE ${function_sections})
pb_precompile(patchbay_agent)
pb_unity(patchbay_agent)
target_link_options(patchbay_agent PRIVATE
  # Options stand before all objects. Of an inline function that several objects have the linker
  # takes the first: that of the probe path, which is built for general registers only and without
  # exceptions.
  -Wl,--whole-archive,$<TARGET_FILE:pb_hot>,--no-whole-archive
  -Wl,--exclude-libs,ALL -Wl,-z,nodelete -Wl,-z,now -Wl,--gc-sections
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/agent.map
  # src/agent/memory.cc stands before the program's malloc for all that is in the library.
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free)
# src/agent/libc_versions.cc stands before what libc has in newer versions only.
set(agent_old_versions __isoc23_strtol __isoc23_strtoll __isoc23_strtoul __isoc23_strtoull
  __libc_single_threaded __pthread_key_create dladdr dladdr1 dlclose dlopen
  dlsym dlvsym fstat gettid lstat pthread_attr_getstack pthread_attr_setstacksize pthread_getattr_np
  pthread_key_create pthread_mutex_consistent pthread_mutex_trylock
  pthread_mutexattr_destroy pthread_mutexattr_init pthread_mutexattr_setpshared
  pthread_mutexattr_setrobust pthread_once pthread_setspecific stat)
if(NOT PATCHBAY_SANITIZE)
  list(TRANSFORM agent_old_versions PREPEND -Wl,--wrap=)
  # Not libm, which the compiler adds for code that is not even kept: a process may have none. A
  # symbol that nothing defines is an error here, and not in the process that is to be traced.
  target_link_options(patchbay_agent PRIVATE -nodefaultlibs -Wl,-z,defs -Wl,--wrap=ceil
    ${agent_old_versions})
  target_link_libraries(patchbay_agent PRIVATE
    -Wl,-Bstatic -lstdc++ -lgcc_eh -lgcc -Wl,-Bdynamic -lc)
endif()
set_property(TARGET patchbay_agent APPEND PROPERTY
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/agent.map)

# --- debug information: the tool's
file(GLOB debug_info_sources CONFIGURE_DEPENDS src/debug_info/*.cc)
list(FILTER debug_info_sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$")
add_library(pb_debug_info STATIC ${debug_info_sources})
target_link_libraries(pb_debug_info PUBLIC pb_core pb_libdw pb_zstd pb_lzma)
pb_precompile(pb_debug_info)
pb_unity(pb_debug_info)

# --- recordings for other programs: the tool's
file(GLOB_RECURSE export_sources CONFIGURE_DEPENDS src/export/*.cc)
list(FILTER export_sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$")
add_library(pb_export STATIC ${export_sources})
target_link_libraries(pb_export PUBLIC pb_core pb_zstd pb_zlib pb_sqlite)
pb_precompile(pb_export)
pb_unity(pb_export)

# --- recordings for databases: the tool's
file(GLOB ship_sources CONFIGURE_DEPENDS src/ship/*.cc)
list(FILTER ship_sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$")
add_library(pb_ship STATIC ${ship_sources})
target_include_directories(pb_ship PRIVATE ${CURL_INCLUDE_DIRS})
target_link_libraries(pb_ship PUBLIC pb_export)
pb_precompile(pb_ship)
pb_unity(pb_ship)

# --- into a running process: the tool's
file(GLOB attach_sources CONFIGURE_DEPENDS src/attach/*.cc src/attach/*.S)
list(FILTER attach_sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$|/asm_offsets\\.cc$")
add_library(pb_attach STATIC ${attach_sources})
target_link_libraries(pb_attach PUBLIC pb_core)
add_dependencies(pb_attach asm_offsets)
target_include_directories(pb_attach PRIVATE
  $<$<COMPILE_LANGUAGE:ASM>:${CMAKE_BINARY_DIR}/generated>)
pb_precompile(pb_attach)
pb_unity(pb_attach)

# --- the tool
file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS cmd/*.cc)
# The prototypes of known libraries, where the tool finds them also before it is installed.
file(GLOB prototype_files CONFIGURE_DEPENDS share/prototypes/*.h)
file(COPY ${prototype_files} DESTINATION ${CMAKE_BINARY_DIR}/share/patchbay/prototypes)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${prototype_files})
list(FILTER tool_sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$|/main\\.cc$|/portable_")
configure_file(cmake/install_paths.h.in ${CMAKE_BINARY_DIR}/generated/install_paths.h @ONLY)
# The files of the page of `patchbay view` are in the tool.
file(GLOB page_files CONFIGURE_DEPENDS cmd/view/page/*)
set_source_files_properties(cmd/view/page_files.S PROPERTIES OBJECT_DEPENDS "${page_files}")
# Orders are carried out once; only what reads recordings is worth -O2.
set(reading_sources ${tool_sources})
list(FILTER reading_sources INCLUDE REGEX "/cmd/(record|report|view)/")
list(REMOVE_ITEM tool_sources ${reading_sources})
add_library(pb_reading OBJECT ${reading_sources} cmd/view/page_files.S)
add_library(pb_tool STATIC ${tool_sources} $<TARGET_OBJECTS:pb_reading>)  # its tests link it too
foreach(target IN ITEMS pb_reading pb_tool)
  target_link_libraries(${target} PUBLIC pb_core pb_debug_info pb_export pb_ship pb_attach
    pb_fuse)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}
    ${CMAKE_BINARY_DIR}/generated)
endforeach()
target_compile_options(pb_tool PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
pb_precompile(pb_tool)
pb_precompile(pb_reading)
pb_unity(pb_tool)
pb_unity(pb_reading)
add_executable(patchbay cmd/main.cc)
target_link_libraries(patchbay PRIVATE pb_tool)
pb_portable_tool()

# --- what fuzzers are led by: the branches that an input takes, of all that they link
if(PATCHBAY_FUZZ)
  foreach(target IN ITEMS pb_core pb_debug_info pb_export pb_ship)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
endif()

# --- examples, the small nasty programs of the tests, benchmarks, unit tests, fuzzers
include(cmake/programs.cmake)
include(cmake/bpf_examples.cmake)
include(cmake/tests.cmake)
include(cmake/install.cmake)
