// SPDX-License-Identifier: MIT
// A target that owns precompiled headers needs a source (cmake/precompiled.cmake).
