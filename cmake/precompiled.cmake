# SPDX-License-Identifier: MIT
# Precompiled standard headers: they are two thirds of what the compiler reads. Only a matter of
# time: every file includes what it uses, and preset bench builds the product without them to see
# that it does. The tests always have them.
option(PATCHBAY_PRECOMPILE "standard headers are compiled once a library" ON)

set(standard_headers <algorithm> <array> <atomic> <cerrno> <charconv> <cstdint> <cstdlib> <cstring>
  <deque> <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view>
  <thread> <unordered_map> <vector>)

# pb_precompile(TARGET [MORE_HEADER…]): for the C++ of this target. Only tests name more headers.
function(pb_precompile target)
  if(NOT PATCHBAY_PRECOMPILE AND NOT ARGN)
    return()
  endif()
  set(headers "")
  foreach(header IN LISTS standard_headers ARGN)
    list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The first lets ccache see into them. The others: GCC 12 warns by mistake of the operator+ of
    # std::string (GCC bug 105329), and forgets that this is in a system header. Preset bench builds
    # without precompiled headers and with these warnings.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess
      -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread>)
  else()
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang
      -fno-pch-timestamp>)
  endif()
endfunction()
