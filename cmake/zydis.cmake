# SPDX-License-Identifier: MIT
# The decoder inside the agent. The agent comes into processes that do not find libZydis.so: those
# of other root directories, and those that were started without it. Debian has no archive of
# Zydis, so its shared library is made a part of ours (cmake/enclose_library). Tool and tests are
# linked to the library as usual.

# pb_enclose_zydis(TARGET): for a target that has the property PB_ENCLOSES_ZYDIS.
function(pb_enclose_zydis target)
  get_target_property(type Zydis::Zydis TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_libraries(${target} PRIVATE Zydis::Zydis)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/generated/zydis.s)
  set(script ${CMAKE_BINARY_DIR}/generated/zydis.ld)
  set(enclose ${CMAKE_SOURCE_DIR}/cmake/enclose_library)
  add_custom_command(OUTPUT ${source} ${script}
    COMMAND ${enclose} $<TARGET_FILE:Zydis::Zydis> zydis ${source} ${script}
      ZydisDecoderInit ZydisDecoderDecodeInstruction ZydisDecoderDecodeOperands
    DEPENDS ${enclose} $<TARGET_FILE:Zydis::Zydis> VERBATIM
    COMMENT "The decoder becomes a part of the agent")
  # clang refuses the preprocessor's options for a file that has none of its lines.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
    -Wno-unused-command-line-argument)
  target_sources(${target} PRIVATE ${source})
  target_link_options(${target} PRIVATE -Wl,-T,${script})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()
