# SPDX-License-Identifier: MIT
# What the agent runs while it starts lies at the beginning of its text. The kernel maps sixteen
# pages around each that is touched, so that some 400 functions scattered over 3.6 MB are 2 MB of
# memory in each process.
#
# src/agent/start_order.txt names them; tools/start_order writes it. A name that is not there any
# more does no harm, and a function that is missing lies among the others.

# pb_order_start(TARGET): a shared library of objects that are compiled with -ffunction-sections.
# The linker's own script is used, with these functions in front. They stay in .text: valgrind knows
# no functions of other sections.
function(pb_order_start target)
  set(list ${CMAKE_SOURCE_DIR}/src/agent/start_order.txt)
  set(script ${CMAKE_BINARY_DIR}/generated/start_order.ld)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -shared -nostdlib -Wl,-z,now -Wl,--verbose
    OUTPUT_VARIABLE told ERROR_QUIET)
  set(text "\n  .text           :\n  {\n")
  string(FIND "${told}" "${text}" found)
  if(NOT told MATCHES "\n=====+\n(.*)\n=====+\n" OR found EQUAL -1)
    message(WARNING "The linker has no script that is known: the agent's functions are not ordered")
    return()
  endif()
  set(default ${CMAKE_MATCH_1})
  file(STRINGS ${list} names REGEX "^[^#]")
  list(TRANSFORM names REPLACE "(.+)" "    *(.text.\\1 .text.*.\\1)\n")
  list(JOIN names "" names)
  string(REPLACE "${text}" "${text}${names}" ordered "${default}")
  file(CONFIGURE OUTPUT ${script} @ONLY CONTENT "@ordered@")
  target_link_options(${target} PRIVATE -Wl,-T,${script})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()
