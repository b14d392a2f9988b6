# SPDX-License-Identifier: MIT
# The objects that debug_info_test opens, beside it in debug_info/: tests/debug_info/ compiled in
# each way that the debug information of distributions comes in. What is expected of them holds for
# every compiler, so that none of the project's own flags matter.
set(objects_dir ${CMAKE_BINARY_DIR}/tests/debug_info)
file(MAKE_DIRECTORY ${objects_dir})
set(debug_info_objects "")
# Optimizing, clang does not say where a parameter is that nobody reads; of those tests are made.
set(optimized "-O2")
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  set(optimized "-O0")
endif()

# pb_debug_info_object(NAME COMPILER FLAGS SOURCE…): objects_dir/NAME.so
function(pb_debug_info_object name compiler flags)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/tests/debug_info/ OUTPUT_VARIABLE sources)
  separate_arguments(flag_list UNIX_COMMAND "${flags}")
  # clang puts .dwo files where it is started.
  file(MAKE_DIRECTORY ${objects_dir}/${name})
  add_custom_command(OUTPUT ${objects_dir}/${name}.so
    COMMAND ${compiler} ${flag_list} -w -fPIC -shared -nostdlib -Wl,--build-id -fcf-protection=none
      ${sources} -o ${objects_dir}/${name}.so
    WORKING_DIRECTORY ${objects_dir}/${name} DEPENDS ${sources} VERBATIM)
  set(debug_info_objects ${debug_info_objects} ${objects_dir}/${name}.so PARENT_SCOPE)
endfunction()

pb_debug_info_object(passing_4 ${CMAKE_C_COMPILER} "-O0 -gdwarf-4" passing.c)
pb_debug_info_object(passing_5 ${CMAKE_C_COMPILER} "${optimized} -gdwarf-5" passing.c)
pb_debug_info_object(passing_cxx_4 ${CMAKE_CXX_COMPILER} "-O0 -gdwarf-4" passing_cxx.cc)
pb_debug_info_object(passing_cxx_5 ${CMAKE_CXX_COMPILER} "${optimized} -gdwarf-5" passing_cxx.cc)
pb_debug_info_object(enums_4 ${CMAKE_CXX_COMPILER} "-O1 -gdwarf-4" enums.cc)
pb_debug_info_object(enums_5 ${CMAKE_CXX_COMPILER} "-O0 -gdwarf-5" enums.cc)
# clang leaves out the types that another object is thought to describe, without this.
set(whole_types "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(whole_types " -fstandalone-debug")
endif()
pb_debug_info_object(objects_4 ${CMAKE_CXX_COMPILER}
  "-std=c++20 -O0 -gdwarf-4${whole_types}" objects.cc)
pb_debug_info_object(objects_5 ${CMAKE_CXX_COMPILER}
  "-std=c++20 ${optimized} -gdwarf-5${whole_types}" objects.cc)
pb_debug_info_object(values_4 ${CMAKE_C_COMPILER} "-O0 -gdwarf-4" values.c other.c)
pb_debug_info_object(values_5 ${CMAKE_C_COMPILER} "-O2 -gdwarf-5" values.c other.c)
pb_debug_info_object(removed_5 ${CMAKE_C_COMPILER} "-O2 -gdwarf-5" removed.c)
pb_debug_info_object(removed_4 ${CMAKE_C_COMPILER} "-O0 -gdwarf-4" removed.c)
pb_debug_info_object(unread_5 ${CMAKE_CXX_COMPILER} "-O2 -gdwarf-5" unread.cc)
pb_debug_info_object(cold_5 ${CMAKE_C_COMPILER} "-O2 -gdwarf-5" cold.c)
pb_debug_info_object(types_5 ${CMAKE_C_COMPILER} "-O0 -gdwarf-5 -fdebug-types-section" values.c)
pb_debug_info_object(types_4 ${CMAKE_C_COMPILER} "-O0 -gdwarf-4 -fdebug-types-section" values.c)
pb_debug_info_object(removed_lines ${CMAKE_C_COMPILER} "-O0 -g1" removed.c)
pb_debug_info_object(namesakes_5 ${CMAKE_C_COMPILER}
  "-O1 -gdwarf-5 -ffunction-sections -Wl,--gc-sections" namesake.c namesakes.c)
pb_debug_info_object(bases_4 ${CMAKE_CXX_COMPILER} "-O0 -gdwarf-4" bases.cc)
pb_debug_info_object(bases_lines ${CMAKE_CXX_COMPILER} "-O0 -g1" bases.cc)
pb_debug_info_object(bases_5 ${CMAKE_CXX_COMPILER} "-O2 -gdwarf-5" bases.cc)
pb_debug_info_object(values_z ${CMAKE_C_COMPILER} "-O2 -gdwarf-5 -gz=zlib" values.c other.c)
pb_debug_info_object(values_split ${CMAKE_C_COMPILER} "-O0 -gdwarf-5 -gsplit-dwarf"
  values.c other.c)
pb_debug_info_object(passing_split_4 ${CMAKE_C_COMPILER} "-O0 -gdwarf-4 -gsplit-dwarf" passing.c)
pb_debug_info_object(passing_split_5 ${CMAKE_C_COMPILER} "${optimized} -gdwarf-5 -gsplit-dwarf"
  passing.c)
pb_debug_info_object(values_none ${CMAKE_C_COMPILER} "-O0 -g0" values.c)
find_program(PATCHBAY_OTHER_COMPILER clang)
if(PATCHBAY_OTHER_COMPILER)
  pb_debug_info_object(passing_clang ${PATCHBAY_OTHER_COMPILER} "-O2 -gdwarf-5" passing.c)
  pb_debug_info_object(passing_clang_split ${PATCHBAY_OTHER_COMPILER} "-O2 -gdwarf-5 -gsplit-dwarf"
    passing.c)
  pb_debug_info_object(enums_clang ${PATCHBAY_OTHER_COMPILER} "-O0 -gdwarf-5" enums.cc)
  pb_debug_info_object(objects_clang ${PATCHBAY_OTHER_COMPILER}
    "-std=c++20 -O0 -gdwarf-5 -fstandalone-debug" objects.cc)
  pb_debug_info_object(removed_clang ${PATCHBAY_OTHER_COMPILER} "-O2 -gdwarf-5" removed.c)
  pb_debug_info_object(unread_clang ${PATCHBAY_OTHER_COMPILER} "-O2 -gdwarf-5" unread.cc)
  pb_debug_info_object(values_clang ${PATCHBAY_OTHER_COMPILER} "-O2 -gdwarf-5" values.c other.c)
else()
  message(WARNING "clang was not found: debug_info_test SKIPS what clang makes of its objects")
endif()
add_custom_target(debug_info_objects DEPENDS ${debug_info_objects})
add_dependencies(debug_info_test debug_info_objects)
