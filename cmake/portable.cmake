# SPDX-License-Identifier: MIT
# The tool of the tarball (`tools/package tarball`): patchbay_portable, the same objects as
# patchbay, linked to archives. It needs libc alone, of the version that cmd/portable_libc.cc names
# or a newer one. What has no archive in Debian is enclosed (cmake/zydis.cmake) or is loaded where a
# command needs it (libcurl, libmicrohttpd).

# pb_library(NAME PREFIX): a library that pkg_check_modules has found, shared for everybody but for
# a target that has the property PB_PORTABLE.
function(pb_library name prefix)
  set(words "")
  foreach(library IN LISTS ${prefix}_STATIC_LIBRARIES)
    unset(archive)
    if(library MATCHES "^(m|pthread|dl|rt)$")  # libc's own
      list(APPEND words ${library})
      continue()
    endif()
    find_library(archive lib${library}.a HINTS ${${prefix}_LIBDIR} NO_CACHE)
    if(archive)
      list(APPEND words ${archive})
      set_property(GLOBAL APPEND PROPERTY pb_archives ${archive})
    elseif(library IN_LIST ${prefix}_LIBRARIES)
      set_property(GLOBAL APPEND PROPERTY pb_no_archive lib${library}.a)
    endif()
  endforeach()
  add_library(${name} INTERFACE)
  set(portable $<BOOL:$<TARGET_PROPERTY:PB_PORTABLE>>)
  target_link_libraries(${name} INTERFACE
    "$<${portable}:${words}>" $<$<NOT:${portable}>:PkgConfig::${prefix}>)
endfunction()

# pb_portable_tool(): the target, with the tool's version of libc's functions.
function(pb_portable_tool)
  get_property(missing GLOBAL PROPERTY pb_no_archive)
  if(missing OR PATCHBAY_SANITIZE)
    list(REMOVE_DUPLICATES missing)
    list(JOIN missing ", " missing)
    add_custom_target(patchbay_portable COMMAND ${CMAKE_COMMAND} -E echo
      "the portable tool cannot be made: these archives are not installed: ${missing}"
      COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
    return()
  endif()
  add_executable(patchbay_portable EXCLUDE_FROM_ALL cmd/main.cc cmd/portable_libc.cc)
  set_target_properties(patchbay_portable PROPERTIES PB_PORTABLE ON PB_ENCLOSES_ZYDIS ON)
  target_link_libraries(patchbay_portable PRIVATE pb_tool)
  pb_enclose_zydis(patchbay_portable ZydisDecoderInit ZydisDecoderDecodeFull
    ZydisDecoderDecodeInstruction ZydisDecoderDecodeOperands ZydisRegisterGetLargestEnclosing)
  # What the source stands before is written there alone.
  file(READ cmd/portable_libc.cc text)
  string(REGEX MATCHALL "(\nOLD_VERSION\\(| __wrap_)[a-z_0-9]+" names "${text}")
  list(TRANSFORM names REPLACE "^(\nOLD_VERSION\\(| __wrap_)" "-Wl,--wrap=")
  list(REMOVE_DUPLICATES names)
  # For the licences (tools/package).
  get_property(archives GLOBAL PROPERTY pb_archives)
  get_target_property(zydis Zydis::Zydis LOCATION)
  list(APPEND archives ${zydis})
  list(REMOVE_DUPLICATES archives)
  list(JOIN archives " " archives)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/portable_archives "${archives}\n")
  # libc has them as empty files since 2.34; before, what they had is there.
  find_library(PATCHBAY_LIBPTHREAD libpthread.so.0 REQUIRED)
  find_library(PATCHBAY_LIBDL libdl.so.2 REQUIRED)
  target_link_options(patchbay_portable PRIVATE -static-libstdc++ -static-libgcc ${names})
  target_link_libraries(patchbay_portable PRIVATE
    -Wl,--push-state,--no-as-needed ${PATCHBAY_LIBPTHREAD} ${PATCHBAY_LIBDL} -Wl,--pop-state)
endfunction()
