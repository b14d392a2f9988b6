# SPDX-License-Identifier: MIT
# examples/bpf: a program with a USDT probe, the BPF program that watches it, and its loader. Built
# where clang has the target bpf, and libbpf-dev and systemtap-sdt-dev are there; a message says
# what is missing. Result in build/<preset>/examples/bpf: orders, orders.bpf.o, watch_orders.
find_program(PATCHBAY_BPF_COMPILER clang)
find_path(PATCHBAY_SDT_INCLUDE sys/sdt.h)
pkg_check_modules(LIBBPF IMPORTED_TARGET libbpf>=1.0)
set(bpf_folder ${CMAKE_SOURCE_DIR}/examples/bpf)
set(bpf_missing "")
if(NOT LIBBPF_FOUND)
  set(bpf_missing "libbpf-dev is not installed")
elseif(NOT PATCHBAY_SDT_INCLUDE)
  set(bpf_missing "systemtap-sdt-dev is not installed")
elseif(NOT PATCHBAY_BPF_COMPILER)
  set(bpf_missing "clang is not installed")
else()
  execute_process(COMMAND ${PATCHBAY_BPF_COMPILER} --print-targets
    OUTPUT_VARIABLE bpf_targets ERROR_QUIET)
  if(NOT bpf_targets MATCHES "bpf")
    set(bpf_missing "clang has no target bpf")
  endif()
endif()
if(bpf_missing)
  message(STATUS "examples/bpf is not built: ${bpf_missing}")
  return()
endif()

pb_program(example_bpf_orders examples/bpf ${bpf_folder}/orders.c)
# With frame pointers: the kernel follows no other stacks.
target_compile_options(example_bpf_orders PRIVATE -fno-omit-frame-pointer)
set_target_properties(example_bpf_orders PROPERTIES OUTPUT_NAME orders)
pb_program(example_bpf_watch_orders examples/bpf ${bpf_folder}/watch_orders.c)
target_link_libraries(example_bpf_watch_orders PRIVATE PkgConfig::LIBBPF)
set_target_properties(example_bpf_watch_orders PROPERTIES OUTPUT_NAME watch_orders)

# <asm/types.h> is in the folder of the architecture, which the target bpf does not know.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/examples/bpf)
set(bpf_object ${CMAKE_BINARY_DIR}/examples/bpf/orders.bpf.o)
add_custom_command(OUTPUT ${bpf_object}
  COMMAND ${PATCHBAY_BPF_COMPILER} -target bpf -D__TARGET_ARCH_x86 -O2 -g -Wall
          -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -c ${bpf_folder}/orders.bpf.c
          -o ${bpf_object}
  DEPENDS ${bpf_folder}/orders.bpf.c ${bpf_folder}/orders_abi.h
  COMMENT "BPF object examples/bpf/orders.bpf.o" VERBATIM)
add_custom_target(example_bpf_object ALL DEPENDS ${bpf_object})
