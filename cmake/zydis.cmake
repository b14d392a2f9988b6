# SPDX-License-Identifier: MIT
# The decoder inside the agent. The agent comes into processes that do not find libZydis.so: those
# of other root directories, and those that were started without it. Debian has no archive of
# Zydis, so its shared library is made a part of ours (cmake/enclose_library), and of the tool of
# the tarball. Else tool and tests are linked to the library as usual.

# pb_enclose_zydis(TARGET FUNCTION…): for a target that has the property PB_ENCLOSES_ZYDIS.
function(pb_enclose_zydis target)
  get_target_property(type Zydis::Zydis TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_libraries(${target} PRIVATE Zydis::Zydis)
    return()
  endif()
  # One source a target: what is made for two may be made twice at once.
  set(source ${CMAKE_BINARY_DIR}/generated/zydis_${target}.s)
  set(script ${CMAKE_BINARY_DIR}/generated/zydis_${target}.ld)
  set(enclose ${CMAKE_SOURCE_DIR}/cmake/enclose_library)
  add_custom_command(OUTPUT ${source} ${script}
    COMMAND ${enclose} $<TARGET_FILE:Zydis::Zydis> zydis ${source} ${script} ${ARGN}
    DEPENDS ${enclose} $<TARGET_FILE:Zydis::Zydis> VERBATIM
    COMMENT "The decoder becomes a part of ${target}")
  # clang refuses the preprocessor's options for a file that has none of its lines.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
    -Wno-unused-command-line-argument)
  target_sources(${target} PRIVATE ${source})
  target_link_options(${target} PRIVATE -Wl,-T,${script})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()
