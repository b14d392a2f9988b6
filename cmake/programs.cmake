# SPDX-License-Identifier: MIT
# Programs that are traced, not part of the product: the examples, the small nasty programs of the
# tests, and the benchmarks. None of them is sanitized; all keep their symbols and default
# visibility, as an ordinary program does.

# pb_program(NAME FOLDER SOURCE… ): an ordinary -O2 program in build/<preset>/FOLDER.
function(pb_program name folder)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE -O2 -g -Wall -Wextra)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder}
    C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
endfunction()

# All of examples/ and tests/programs/.
add_custom_target(traced_programs)

file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c examples/*.cc)
foreach(source IN LISTS example_sources)
  get_filename_component(name ${source} NAME_WE)
  pb_program(example_${name} examples ${source})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name})
  add_dependencies(traced_programs example_${name})
  if(name MATCHES "^api_")  # uses the in-process API
    target_link_libraries(example_${name} PRIVATE patchbay_agent)
  endif()
endforeach()

# tests/programs: x.c or x.cc is a program, x_so.c a shared object that a program loads, static_x.c
# a static program.
file(GLOB program_sources CONFIGURE_DEPENDS tests/programs/*.c tests/programs/*.cc)
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/include/patchbay/trace.h)
  list(FILTER program_sources EXCLUDE REGEX "/api_kernel_listings")
endif()
foreach(source IN LISTS program_sources)
  get_filename_component(name ${source} NAME_WE)
  if(name MATCHES "_so$")
    add_library(program_${name} MODULE ${source})
    target_include_directories(program_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    set_target_properties(program_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/programs C_VISIBILITY_PRESET default)
    if(name STREQUAL "failing_malloc_so")  # before the agent's constructors
      target_link_options(program_${name} PRIVATE -Wl,-z,initfirst)
    endif()
  else()
    pb_program(program_${name} tests/programs ${source})
    set_target_properties(program_${name} PROPERTIES OUTPUT_NAME ${name})
  endif()
  add_dependencies(traced_programs program_${name})
  # Programs that use the in-process API.
  if(name MATCHES "^api_" AND NOT name MATCHES "_so$")
    target_link_libraries(program_${name} PRIVATE patchbay_agent)
  endif()
  if(name MATCHES "^api_kernel_listings")
    target_compile_options(program_${name} PRIVATE -Werror)
  endif()
  if(name MATCHES "^static_")
    target_link_options(program_${name} PRIVATE -static)
  endif()
endforeach()

# The same program with each kind of sled that a compiler leaves (tests/scripts/sleds.sh).
set(sled_source ${CMAKE_SOURCE_DIR}/tests/programs/calls.c)
set(sled_5 -fpatchable-function-entry=5)
set(sled_16 -fpatchable-function-entry=16)
set(sled_before -fpatchable-function-entry=16,11)
set(sled_short -fpatchable-function-entry=2)
foreach(kind IN ITEMS 5 16 before short)
  pb_program(program_calls_sled_${kind} tests/programs ${sled_source})
  set_target_properties(program_calls_sled_${kind} PROPERTIES OUTPUT_NAME calls_sled_${kind})
  target_compile_options(program_calls_sled_${kind} PRIVATE ${sled_${kind}})
  add_dependencies(traced_programs program_calls_sled_${kind})
endforeach()
execute_process(COMMAND ${CMAKE_C_COMPILER} -pg -mfentry -mnop-mcount -fno-pie -c -x c /dev/null
  -o ${CMAKE_BINARY_DIR}/nop_mcount.o RESULT_VARIABLE nop_mcount ERROR_QUIET)
if(nop_mcount EQUAL 0)
  pb_program(program_calls_sled_mfentry tests/programs ${sled_source})
  set_target_properties(program_calls_sled_mfentry PROPERTIES OUTPUT_NAME calls_sled_mfentry
    POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(program_calls_sled_mfentry PRIVATE -pg -mfentry -mnop-mcount -fno-pie)
  target_link_options(program_calls_sled_mfentry PRIVATE -no-pie)
  add_dependencies(traced_programs program_calls_sled_mfentry)
endif()

# tests/attach: programs that an agent comes to while they run (tests/scripts/attach_cases.sh).
file(GLOB attach_sources CONFIGURE_DEPENDS tests/attach/*.c tests/attach/*.cc)
# Those of the unit tests are theirs; the 32-bit one is the script's, where gcc has -m32.
list(FILTER attach_sources EXCLUDE REGEX "/(freestanding_|test_agent|broken_library)")
foreach(source IN LISTS attach_sources)
  get_filename_component(name ${source} NAME_WE)
  if(name MATCHES "_so$")
    add_library(attach_${name} MODULE ${source})
    set_target_properties(attach_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/attach C_VISIBILITY_PRESET default)
  else()
    pb_program(attach_${name} tests/attach ${source})
    set_target_properties(attach_${name} PROPERTIES OUTPUT_NAME ${name})
  endif()
  list(APPEND attach_targets attach_${name})
endforeach()
set_target_properties(attach_storms PROPERTIES ENABLE_EXPORTS ON)  # its library calls it back
target_include_directories(attach_plays_agent PRIVATE ${CMAKE_SOURCE_DIR}/src)  # our messages
add_custom_target(attach_programs DEPENDS ${attach_targets})

# An agent that lies (tests/scripts/hostile_agent.sh).
pb_program(hostile_agent tests/hostile tests/hostile/hostile_agent.cc)

# The program that plays a kernel, and the caller of single system calls (tests/oracle).
file(GLOB standin_sources CONFIGURE_DEPENDS tests/standin/*.cc)
pb_program(standin tests/standin ${standin_sources})
target_include_directories(standin PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_compile_options(standin PRIVATE -fno-optimize-sibling-calls)  # callers stay callers
# A kernel has no functions with colons in their names, where the kernel's tests cut lines.
target_link_options(standin PRIVATE -Wl,--as-needed)
# Its modules: what the kernel calls trace-printk is the library modules/trace_printk.
file(GLOB module_sources CONFIGURE_DEPENDS tests/standin/modules/*.c)
foreach(source IN LISTS module_sources)
  get_filename_component(name ${source} NAME_WE)
  add_library(standin_${name} MODULE ${source})
  target_compile_options(standin_${name} PRIVATE -O2 -g -Wall -Wextra -Wno-format-security)
  target_include_directories(standin_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(standin_${name} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/standin/modules C_VISIBILITY_PRESET default)
  add_dependencies(standin standin_${name})
endforeach()
pb_program(tracefs_call tests/oracle tests/oracle/tracefs_call.c)

# Benchmarks. bench/peers holds what bench/compare runs beside us; each is built only where its
# package is installed.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.cc)
if(NOT PATCHBAY_BENCH)
  set(bench_sources "")
endif()
if(bench_sources AND NOT benchmark_FOUND)
  message(WARNING "Google Benchmark (libbenchmark-dev) was not found: bench/ is SKIPPED")
elseif(bench_sources AND NOT PATCHBAY_SANITIZE)
  # Those that trace themselves with the agent as a user's program would: no second copy of our code
  # is in them.
  set(with_agent callback printk probe probe_anywhere enable function_tracer multiplex static_event
    synth_event trigger mirror)
  foreach(source IN LISTS bench_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(bench_${name} ${source})
    target_link_libraries(bench_${name} PRIVATE
      $<IF:$<IN_LIST:${name},${with_agent}>,patchbay_agent,pb_core>
      benchmark::benchmark_main benchmark::benchmark ${CMAKE_DL_LIBS})
    target_include_directories(bench_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_compile_options(bench_${name} PRIVATE -Wall -Wextra)
    set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name}
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  endforeach()
endif()
