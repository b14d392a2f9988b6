# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: the tool, the agent with its headers, a CMake package
# (find_package(patchbay), target patchbay::agent), a pkg-config file, man pages, completions of the
# shells, the licence. Tool and agent are stripped; their symbols lie beside them, where gdb looks:
# bin/.debug/patchbay.debug.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/patchbay)

# All that is installed. What was never built is built now: `cmake --install` fails otherwise where
# somebody has built tool and agent alone.
add_custom_target(installed DEPENDS patchbay patchbay_agent)
install(CODE "
  foreach(file IN ITEMS \"$<TARGET_FILE:patchbay>\" \"$<TARGET_FILE:patchbay_agent>\"
      \"$<JOIN:$<TARGET_PROPERTY:installed,PB_FILES>,\" \">\")
    if(NOT EXISTS \"\${file}\")
      execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\"
        --target installed COMMAND_ERROR_IS_FATAL ANY)
      break()
    endif()
  endforeach()" ALL_COMPONENTS)

set_target_properties(patchbay_agent PROPERTIES EXPORT_NAME agent)
target_include_directories(patchbay_agent INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(patchbay::agent ALIAS patchbay_agent)

install(TARGETS patchbay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(TARGETS patchbay_agent EXPORT patchbayTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
# The tarball has the tool that needs no libraries (tools/package).
install(CODE "
  if(DEFINED ENV{PATCHBAY_INSTALLED_TOOL})
    file(COPY_FILE \"\$ENV{PATCHBAY_INSTALLED_TOOL}\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/patchbay\")
  endif()" COMPONENT tools)
install(CODE "
  set(objcopy \"${CMAKE_OBJCOPY}\")
  set(stripped \"${CMAKE_INSTALL_BINDIR}/patchbay\"
    \"${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:patchbay_agent>\")"
  COMPONENT runtime)
install(SCRIPT cmake/strip_installed.cmake COMPONENT runtime)
install(DIRECTORY include/patchbay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY share/prometheus packaging/systemd DESTINATION ${CMAKE_INSTALL_DATADIR}/patchbay
        COMPONENT tools)
install(DIRECTORY share/prototypes DESTINATION ${CMAKE_INSTALL_DATADIR}/patchbay COMPONENT tools
  FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

install(EXPORT patchbayTargets NAMESPACE patchbay:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/patchbayConfig.cmake.in ${CMAKE_BINARY_DIR}/patchbayConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/patchbayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/patchbayConfig.cmake
  ${CMAKE_BINARY_DIR}/patchbayConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)

# The package finds its prefix by where it lies, so that --prefix is obeyed and it can be moved.
file(RELATIVE_PATH prefix_from_pc "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/patchbay.pc.in ${CMAKE_BINARY_DIR}/patchbay.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/patchbay.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# --- man pages: man/NAME.SECTION.scd -> build/<preset>/man/NAME.SECTION, and of each header for C
# a page patchbay_HEADER.3
# What a page names before its "-" are its other names: `man patchbay-show` finds patchbay-start(1).
function(install_other_names source page section)
  file(READ ${source} text)
  string(FIND "${text}" " - " end)
  string(SUBSTRING "${text}" 0 ${end} names)
  string(REGEX MATCHALL "patchbay-[a-z-]*[a-z]" names "${names}")
  foreach(name IN LISTS names)
    set(alias ${CMAKE_BINARY_DIR}/man/aliases/${name}.${section})
    if(NOT "${name}.${section}" STREQUAL "${page}")
      file(WRITE ${alias} ".so man${section}/${page}\n")
      install(FILES ${alias} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT tools)
    endif()
  endforeach()
endfunction()

find_program(SCDOC scdoc)
file(GLOB man_sources CONFIGURE_DEPENDS man/*.scd)
set(man_pages "")
if(SCDOC)
  foreach(source IN LISTS man_sources)
    get_filename_component(page ${source} NAME_WLE)
    set(output ${CMAKE_BINARY_DIR}/man/${page})
    add_custom_command(OUTPUT ${output} DEPENDS ${source}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
      COMMAND sh -c "\"$1\" < \"$2\" > \"$3\"" scdoc ${SCDOC} ${source} ${output} VERBATIM)
    list(APPEND man_pages ${output})
    string(REGEX MATCH "[0-9]$" section ${page})
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT tools)
    install_other_names(${source} ${page} ${section})
  endforeach()
elseif(man_sources)
  message(WARNING "scdoc was not found: the man pages are SKIPPED")
endif()
find_program(PYTHON3 python3)
file(GLOB man_headers CONFIGURE_DEPENDS include/patchbay/*.h)
if(PYTHON3)
  foreach(source IN LISTS man_headers)
    get_filename_component(header ${source} NAME_WE)
    set(output ${CMAKE_BINARY_DIR}/man/patchbay_${header}.3)
    if(header STREQUAL "patchbay")
      set(output ${CMAKE_BINARY_DIR}/man/patchbay.3)
    endif()
    add_custom_command(OUTPUT ${output} DEPENDS ${source} tools/header_page
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
      COMMAND sh -c "\"$1\" \"$2\" \"$3\" > \"$4\"" header_page ${PYTHON3}
        ${CMAKE_SOURCE_DIR}/tools/header_page ${source} ${output} VERBATIM)
    list(APPEND man_pages ${output})
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
  endforeach()
else()
  message(WARNING "python3 was not found: the man pages of the headers are SKIPPED")
endif()
add_custom_target(man_pages ALL DEPENDS ${man_pages})

# --- completions of the shells: the tool prints them
if(NOT PATCHBAY_SANITIZE)
  set(completions ${CMAKE_BINARY_DIR}/completions)
  foreach(shell IN ITEMS bash zsh fish)
    add_custom_command(OUTPUT ${completions}/patchbay.${shell} DEPENDS patchbay
      COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
      COMMAND sh -c "\"$1\" completions \"$2\" > \"$3\"" completions $<TARGET_FILE:patchbay>
        ${shell} ${completions}/patchbay.${shell} VERBATIM)
    list(APPEND completion_files ${completions}/patchbay.${shell})
  endforeach()
  add_custom_target(completions ALL DEPENDS ${completion_files})
  install(FILES ${completions}/patchbay.bash RENAME patchbay COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/patchbay.zsh RENAME _patchbay COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completions}/patchbay.fish COMPONENT tools
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

add_dependencies(installed man_pages)
if(TARGET completions)
  add_dependencies(installed completions)
endif()
set_property(TARGET installed PROPERTY PB_FILES ${man_pages} ${completion_files})

add_custom_target(uninstall COMMENT "Removes what the last cmake --install has installed"
  COMMAND ${CMAKE_COMMAND} -D manifest=${CMAKE_BINARY_DIR}/install_manifest.txt
    -P ${CMAKE_SOURCE_DIR}/cmake/uninstall.cmake)
