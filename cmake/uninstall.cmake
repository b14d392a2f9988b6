# SPDX-License-Identifier: MIT
# cmake -D manifest=FILE -P: removes the files of an install_manifest.txt, and the folders of ours
# that are empty then.
if(NOT EXISTS "${manifest}")
  message(FATAL_ERROR "There is no ${manifest}: nothing was installed from this build.")
endif()
file(STRINGS "${manifest}" files)
foreach(file IN LISTS files)
  file(REMOVE "$ENV{DESTDIR}${file}")
  get_filename_component(directory "$ENV{DESTDIR}${file}" DIRECTORY)
  if(directory MATCHES "/(patchbay|\\.debug)$")
    file(GLOB left "${directory}/*")
    if(NOT left)
      file(REMOVE_RECURSE "${directory}")
    endif()
  endif()
endforeach()
