# SPDX-License-Identifier: MIT
# Part of `cmake --install`: `stripped` are files below the prefix, whose symbols go into .debug/
# beside them. gdb, perf and patchbay itself find them by the link that stays. With
# PATCHBAY_KEEP_SYMBOLS in the environment they stay where they are: makers of packages have a way
# of their own.
if(DEFINED ENV{PATCHBAY_KEEP_SYMBOLS})
  return()
endif()
if(NOT objcopy)
  message(WARNING "objcopy was not found: the installed files are not stripped")
  return()
endif()
foreach(file IN LISTS stripped)
  set(file "${CMAKE_INSTALL_PREFIX}/${file}")
  set(path "$ENV{DESTDIR}${file}")
  get_filename_component(name "${file}" NAME)
  get_filename_component(directory "${file}" DIRECTORY)
  if(NOT EXISTS "${path}")
    continue()  # of a component that is not installed
  endif()
  file(MAKE_DIRECTORY "$ENV{DESTDIR}${directory}/.debug")
  set(symbols "$ENV{DESTDIR}${directory}/.debug/${name}.debug")
  execute_process(
    COMMAND "${objcopy}" --only-keep-debug --compress-debug-sections "${path}" "${symbols}"
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${objcopy}" --strip-unneeded "--add-gnu-debuglink=${symbols}" "${path}"
    COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD "${symbols}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${directory}/.debug/${name}.debug")
endforeach()
