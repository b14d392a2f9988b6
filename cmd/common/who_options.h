// SPDX-License-Identifier: MIT
//
// --tid, --pid, --comm, --exe, --tree: whose events a command takes from a recording. One table and
// one meaning in all commands that read one (export/export_who.h decides).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cmd/common/options.h"
#include "export/who_choice.h"

namespace patchbay::cmd {

inline constexpr int kWhoTid = 'P', kWhoComm = kFirstOptionId + 120, kWhoExe = kWhoComm + 1,
                     kWhoTree = kWhoComm + 2, kWhoPid = kWhoComm + 3;

// The last row is --pid, for commands where a process is not named by another option of that name.
inline constexpr Option kWhoOptions[] = {
    {.letter = 'P',
     .name = "tid",
     .argument = "LIST",
     .help = "takes only these threads: 12, 12,15, 4-7",
     .more = "With several of these options, a thread is taken for which all are true.",
     .group = "Of a recording of many processes",
     .repeats = true},
    {.name = "comm",
     .argument = "GLOB",
     .help = "takes only threads with such a name",
     .repeats = true,
     .id = kWhoComm},
    {.name = "exe",
     .argument = "GLOB",
     .help = "takes only processes with such a program: its path, or the last part of it",
     .repeats = true,
     .id = kWhoExe},
    {.name = "tree",
     .argument = "LIST",
     .help = "takes only these processes and all that they have started",
     .more = "A child that was forked, and has executed nothing, counts as started by the first "
             "process of its program.",
     .repeats = true,
     .id = kWhoTree},
    {.name = "pid",
     .argument = "LIST",
     .help = "takes only these processes",
     .repeats = true,
     .id = kWhoPid},
};

// Null when the option is right, or none of these; else the sentence about it.
const char* take_who_option(int id, const char* value, WhoChoice* choice);
// "1,5,7-9": whole numbers up to 32 bits. The list grows by at most 65536 of them. False: it is no
// such list.
bool take_number_list(std::string_view text, std::vector<uint64_t>* list);

}  // namespace patchbay::cmd
