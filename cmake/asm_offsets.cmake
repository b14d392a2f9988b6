# SPDX-License-Identifier: MIT
# src/FOLDER/asm_offsets.cc -> generated/FOLDER/asm_offsets.h, for the assembler sources
# (src/hot/asm_offset.h says how it works).
file(GLOB_RECURSE offset_sources CONFIGURE_DEPENDS src/asm_offsets.cc)
set(asm_offset_headers)
foreach(source ${offset_sources})
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
  set(text ${CMAKE_BINARY_DIR}/generated/${folder}/asm_offsets)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/${folder})
  add_custom_command(OUTPUT ${text}.h
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -D_GNU_SOURCE -O2 -Wno-invalid-offsetof
      -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/include
      -MD -MT ${text}.h -MF ${text}.d -S -o ${text}.s ${source}
    COMMAND sed -n "s/.*[.]ascii[[:space:]]*\"->\\([A-Z0-9_]* [-0-9]*\\)\".*/#define \\1/p"
      ${text}.s > ${text}.h
    DEPENDS ${source} DEPFILE ${text}.d VERBATIM
    COMMENT "Offsets for the assembler sources of src/${folder}")
  list(APPEND asm_offset_headers ${text}.h)
endforeach()
add_custom_target(asm_offsets DEPENDS ${asm_offset_headers})
