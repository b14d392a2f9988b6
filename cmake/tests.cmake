# SPDX-License-Identifier: MIT
# Three kinds of tests, all run by ctest:
#   unit.FOLDER    the *_test.cc of a folder of src/ (or cmd/), one Google Test program
#   script.NAME    tests/scripts/NAME.sh BUILD_DIR; exit 77 means skipped, with the reason printed
#   fuzzers        (a target of preset asan-ubsan) one libFuzzer program a *_fuzz.cc, for tools/fuzz
enable_testing()
set(timed ${CMAKE_SOURCE_DIR}/tools/timed)  # what each takes is noted (tools/check)

# --- unit tests
add_custom_target(unit_tests)
if(GTest_FOUND)
  file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS src/*_test.cc src/*_test.c cmd/*_test.cc)
  if(PATCHBAY_SANITIZE)  # a sanitizer knows the threads that a program makes, not those of others
    list(FILTER test_sources EXCLUDE REGEX "/src/attach/")
  endif()
  set(test_folders "")
  foreach(source IN LISTS test_sources)
    get_filename_component(dir ${source} DIRECTORY)
    file(RELATIVE_PATH rel ${CMAKE_SOURCE_DIR} ${dir})
    string(REGEX REPLACE "^src/" "" folder ${rel})
    string(REGEX REPLACE "/.*" "" folder ${folder})
    list(APPEND test_folders ${folder})
    list(APPEND tests_of_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES test_folders)
  set(c_test_sources ${test_sources})
  list(FILTER c_test_sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${c_test_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  add_executable(pb_test_headers EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(pb_test_headers PRIVATE pb_options pb_san GTest::gtest_main)
  pb_precompile(pb_test_headers <gtest/gtest.h>)
  # Half the time of a build went into optimizing tests; what they test is optimized.
  set(test_options $<$<CONFIG:RelWithDebInfo>:-O0>)
  target_compile_options(pb_test_headers PRIVATE ${test_options})
  # Of the folders below serve, what the ring buffer's and the server's tests need: under the thread
  # sanitizer only these two are run, and nothing else is compiled for them.
  file(GLOB threads_sources CONFIGURE_DEPENDS src/base/*.cc src/ring_buffer/*.cc src/serve/*.cc)
  list(FILTER threads_sources EXCLUDE REGEX "_(hot|test|fuzz|bench)\\.cc$")
  add_library(pb_threads STATIC EXCLUDE_FROM_ALL ${threads_sources} src/tracefs/tree.cc)
  target_link_libraries(pb_threads PUBLIC pb_options pb_san pb_hot Threads::Threads)
  pb_precompile(pb_threads)
  foreach(folder IN LISTS test_folders)
    set(tested pb_core)
    if(PATCHBAY_SANITIZE STREQUAL "thread" AND folder MATCHES "^(ring_buffer|serve)$")
      set(tested pb_threads)
    endif()
    add_executable(${folder}_test ${tests_of_${folder}})
    target_link_libraries(${folder}_test PRIVATE ${tested} GTest::gtest_main)
    target_compile_options(${folder}_test PRIVATE ${test_options})
    if(folder STREQUAL "probe" AND PATCHBAY_SANITIZE MATCHES "address")
      # They read words of stacks that are not theirs: what they test is sanitized, they are not.
      set_target_properties(${folder}_test PROPERTIES PB_UNSANITIZED ON)
      pb_precompile(${folder}_test <gtest/gtest.h>)
    else()
      target_precompile_headers(${folder}_test REUSE_FROM pb_test_headers)
    endif()
    pb_unity(${folder}_test)
    set_target_properties(${folder}_test PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME unit.${folder}
      COMMAND ${timed} unit.${folder} $<TARGET_FILE:${folder}_test> --gtest_brief=1
      WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    set_tests_properties(unit.${folder} PROPERTIES LABELS unit TIMEOUT 600)
    add_dependencies(unit_tests ${folder}_test)
  endforeach()
  if(TARGET debug_info_test)
    target_link_libraries(debug_info_test PRIVATE pb_debug_info)
    include(cmake/debug_info_objects.cmake)
  endif()
  if(TARGET export_test)
    target_link_libraries(export_test PRIVATE pb_export)
  endif()
  if(TARGET ship_test)
    target_link_libraries(ship_test PRIVATE pb_ship)
  endif()
  if(TARGET attach_test)
    target_link_libraries(attach_test PRIVATE pb_attach)
    add_dependencies(attach_test patchbay_agent)  # comes to programs there
    foreach(library IN ITEMS test_agent broken_library)  # what is loaded into other processes
      add_library(attach_${library} MODULE tests/attach/${library}.cc)
      target_include_directories(attach_${library} PRIVATE ${CMAKE_SOURCE_DIR}/src)
      target_compile_options(attach_${library} PRIVATE -ftls-model=initial-exec)
      target_link_options(attach_${library} PRIVATE -Wl,-z,nodelete)
      set_target_properties(attach_${library} PROPERTIES PREFIX "" OUTPUT_NAME ${library}
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/attach)
      add_dependencies(attach_test attach_${library})
    endforeach()
  endif()
  if(TARGET agent_test)
    target_sources(agent_test PRIVATE src/agent/last_error.cc)
  endif()
  # Of the API what needs no agent.
  if(TARGET api_test)
    target_sources(api_test PRIVATE src/api/dynevent.cc src/api/synth_commands.cc
      src/api/probe_commands.cc src/agent/last_error.cc)
  endif()
  if(TARGET cmd_test)
    target_link_libraries(cmd_test PRIVATE pb_tool)
  endif()
else()
  message(WARNING "Google Test (libgtest-dev) was not found: the unit tests are SKIPPED")
endif()

# --- scripts: they walk through the built programs, so never with a sanitized agent
if(NOT PATCHBAY_SANITIZE)
  file(GLOB test_scripts CONFIGURE_DEPENDS tests/scripts/*.sh)
  foreach(script IN LISTS test_scripts)
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME script.${name}
      COMMAND ${timed} script.${name} bash ${script} ${CMAKE_BINARY_DIR})
    set_tests_properties(script.${name} PROPERTIES LABELS script SKIP_RETURN_CODE 77 TIMEOUT 900)
  endforeach()
  # These stop processes again and again for as short as they can. Where many others run, a thread
  # that is to stand is not given the processor for it in time.
  foreach(name IN ITEMS attach_cases attach_programs)
    if(TEST script.${name})
      set_tests_properties(script.${name} PROPERTIES RUN_SERIAL ON)
    endif()
  endforeach()
  # These mount, and look at what is mounted.
  foreach(name IN ITEMS mount mount_all mount_all_nginx kernel_events_document
                        several_tracers_document oracle_same selftests function_chaos following
                        readme)
    if(TEST script.${name})
      set_tests_properties(script.${name} PROPERTIES RESOURCE_LOCK mounts)
    endif()
  endforeach()
  # These write the build's list of what was installed.
  set_tests_properties(script.install script.package PROPERTIES RESOURCE_LOCK installed)
  if(TEST script.selftests)
    # A hundred tests, with naps: others run beside it from the beginning.
    set_tests_properties(script.selftests PROPERTIES TIMEOUT 1800 COST 1000)
  endif()
endif()

# --- fuzzers
if(PATCHBAY_FUZZ)
  add_custom_target(fuzzers)
  file(GLOB_RECURSE fuzz_sources CONFIGURE_DEPENDS src/*_fuzz.cc cmd/*_fuzz.cc)
  foreach(source IN LISTS fuzz_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE pb_core)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})  # the tool's say cmd/…
    if(source MATCHES "/src/debug_info/")
      target_link_libraries(${name} PRIVATE pb_debug_info)
    endif()
    if(source MATCHES "/(src/export|cmd/view)/")
      target_link_libraries(${name} PRIVATE pb_export)
    endif()
    if(source MATCHES "/src/ship/")
      target_link_libraries(${name} PRIVATE pb_ship)
    endif()
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_dependencies(fuzzers ${name})
  endforeach()
endif()
