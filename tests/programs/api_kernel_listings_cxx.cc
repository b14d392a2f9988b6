// SPDX-License-Identifier: MIT
// The same listings as C++20.
#include "api_kernel_listings.c"
