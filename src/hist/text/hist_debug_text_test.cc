// SPDX-License-Identifier: MIT
// hist_debug: the sections, their order and their lines as the kernel's documentation of
// the histograms' design shows them, for a pair of histograms with a variable, a reference to it, a
// field variable, a maximum and what it saves.
#include <gtest/gtest.h>

#include "hist/text/hist_text.h"
#include "hist/text/hist_text_testing.h"

namespace patchbay {
namespace {

using testing::add_hitcount;
using testing::hist_event_field;
using testing::hist_field;

const EventField kPid = hist_event_field("pid_t", "next_pid", 4, true);
const EventField kComm = hist_event_field("char[16]", "next_comm", 16, false);

std::unique_ptr<HistField> named(std::string name, std::string type, uint32_t flags,
                                 uint32_t index) {
  auto made = hist_field(nullptr, flags);
  made->name = std::move(name);
  made->type = std::move(type);
  made->var_index = index;
  return made;
}

std::unique_ptr<HistField> timestamp() {
  auto made = hist_field(nullptr, kHistTimestamp | kHistTimestampUsecs);
  made->type = "u64";
  return made;
}

// hist:keys=next_pid:ts0=common_timestamp.usecs
void build_waking(HistData* hist) {
  add_hitcount(hist);
  hist->keys.push_back(hist_field(&kPid, kHistKey));
  hist->keys[0]->size = 4;
  hist->variables.push_back(named("ts0", "u64", kHistVar, 0));
  hist->variables[0]->operands[0] = timestamp();
}

// The text with each pointer as `#`, from the first blank line behind the head.
std::string debug_of(const HistData& hist) {
  std::string text = hist_debug_text(hist, "hist:x");
  for (size_t at = 0; (at = text.find("hist_data: ", at)) != std::string::npos; at++)
    text.replace(at + 11, 16, "#");
  return text;
}

std::string section(const std::string& text, std::string_view title) {
  const size_t start = text.find(title);
  EXPECT_NE(start, std::string::npos) << title << " in\n" << text;
  if (start == std::string::npos) return "";
  const size_t body = start + title.size();
  size_t end = text.find("\n  ", body);
  while (end != std::string::npos && text[end + 3] == ' ') end = text.find("\n  ", end + 1);
  return text.substr(body, end - body);
}

constexpr char kHitcount[] =
    "\n    hist_data->fields[0]:\n"
    "      flags:\n"
    "        VAL: HIST_FIELD_FL_HITCOUNT\n"
    "      type: u64\n"
    "      size: 8\n"
    "      is_signed: 0\n"
    "      function: hist_field_counter()\n";

TEST(HistDebugText, VariableAndKey) {
  HistData hist;
  build_waking(&hist);
  EXPECT_EQ(debug_of(hist), std::string("# event histogram\n#\n# trigger info: hist:x [active]\n#\n"
                                        "\nhist_data: #\n\n"
                                        "  n_vals: 2\n  n_keys: 1\n  n_fields: 3\n\n"
                                        "  val fields:\n") +
                                kHitcount +
                                "\n    hist_data->fields[1]:\n"
                                "      flags:\n"
                                "        HIST_FIELD_FL_VAR\n"
                                "      var.name: ts0\n"
                                "      var.idx (into tracing_map_elt.vars[]): 0\n"
                                "      type: u64\n"
                                "      size: 8\n"
                                "      is_signed: 0\n"
                                "      function: hist_field_timestamp()\n"
                                "\n  key fields:\n"
                                "\n    hist_data->fields[2]:\n"
                                "      flags:\n"
                                "        HIST_FIELD_FL_KEY\n"
                                "      ftrace_event_field name: next_pid\n"
                                "      type: pid_t\n"
                                "      size: 8\n"
                                "      is_signed: 1\n"
                                "      function: hist_field_s32()\n");
}

// hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmax($lat).save(next_comm)
struct SwitchHist {
  HistData waking, hist;
  SwitchHist() {
    build_waking(&waking);
    add_hitcount(&hist);
    hist.keys.push_back(hist_field(&kPid, kHistKey));
    hist.var_refs.push_back(named("ts0", "u64", kHistVarRef, 0));
    hist.var_refs[0]->var_data = &waking;
    hist.variables.push_back(named("lat", "u64", kHistVar, 0));
    auto minus = named("common_timestamp.usecs-$ts0", "u64", kHistExpr, 0);
    minus->op = HistOperator::kMinus;
    hist.variables[0]->operands[0] = std::move(minus);
    hist.var_refs.push_back(named("lat", "u64", kHistVarRef, 0));
    hist.var_refs[1]->var_data = &hist;
    hist.var_refs[1]->ref_index = 1;
  }
  HistActionData* act(HistHandler handler) {
    hist.actions.push_back(std::make_unique<HistActionData>());
    hist.actions.back()->handler = handler;
    return hist.actions.back().get();
  }
};

TEST(HistDebugText, References) {
  SwitchHist both;
  both.hist.var_refs[1]->system = "sched";
  both.hist.var_refs[1]->event_name = "sched_switch";
  EXPECT_EQ(section(debug_of(both.hist), "  variable reference fields:\n"),
            "\n    hist_data->var_refs[0]:\n"
            "      flags:\n"
            "        HIST_FIELD_FL_VAR_REF\n"
            "      name: ts0\n"
            "      var.idx (into tracing_map_elt.vars[]): 0\n"
            "      var.hist_data: #\n"
            "      var_ref_idx (into hist_data->var_refs[]): 0\n"
            "      type: u64\n"
            "      size: 8\n"
            "      is_signed: 0\n"
            "      function: hist_field_var_ref()\n"
            "\n    hist_data->var_refs[1]:\n"
            "      flags:\n"
            "        HIST_FIELD_FL_VAR_REF\n"
            "      name: lat\n"
            "      var.idx (into tracing_map_elt.vars[]): 0\n"
            "      var.hist_data: #\n"
            "      var_ref_idx (into hist_data->var_refs[]): 1\n"
            "      system: sched\n"
            "      event_name: sched_switch\n"
            "      type: u64\n"
            "      size: 8\n"
            "      is_signed: 0\n"
            "      function: hist_field_var_ref()\n");
}

TEST(HistDebugText, FieldVariableAndMatch) {
  SwitchHist both;
  both.hist.variables.push_back(named("next_comm", "char[16]", kHistVar, 1));
  auto value = hist_field(&kComm, kHistString);
  value->size = 256;
  both.hist.field_vars.push_back({both.hist.variables[1].get(), std::move(value)});
  HistActionData* action = both.act(HistHandler::kMatch);
  action->match_system = "sched";
  action->match_event = "sched_waking";
  const std::string text = debug_of(both.hist);
  EXPECT_NE(text.find("  n_vals: 2\n"), std::string::npos) << "what an action sets is no field";
  EXPECT_EQ(section(text, "  field variables:\n"),
            "\n    hist_data->field_vars[0]:\n"
            "\n      field_vars[0].var:\n"
            "      flags:\n"
            "        HIST_FIELD_FL_VAR\n"
            "      var.name: next_comm\n"
            "      var.idx (into tracing_map_elt.vars[]): 1\n"
            "\n      field_vars[0].val:\n"
            "      ftrace_event_field name: next_comm\n"
            "      type: char[16]\n"
            "      size: 256\n"
            "      is_signed: 0\n");
  EXPECT_EQ(section(text, "  action tracking variables (for onmax()/onchange()/onmatch()):\n"),
            "\n    hist_data->actions[0].match_data.event_system: sched\n"
            "    hist_data->actions[0].match_data.event: sched_waking\n");
}

TEST(HistDebugText, MaximumAndSave) {
  SwitchHist both;
  HistActionData* action = both.act(HistHandler::kMax);
  both.hist.variables.push_back(named("__max", "u64", kHistVar, 1));
  both.hist.variables.push_back(named("next_pid", "pid_t", kHistVar, 2));
  action->track_ref = both.hist.var_refs[1].get();
  action->track_var = both.hist.variables[1].get();
  action->saved.push_back({both.hist.variables[2].get(), hist_field(&kPid)});
  const std::string text = debug_of(both.hist);
  const std::string tracking =
      section(text, "  action tracking variables (for onmax()/onchange()/onmatch()):\n");
  EXPECT_TRUE(
      tracking.starts_with("\n    hist_data->actions[0].track_data.var_ref:\n"
                           "      flags:\n"
                           "        HIST_FIELD_FL_VAR_REF\n"
                           "      name: lat\n"))
      << tracking;
  EXPECT_TRUE(
      tracking.ends_with("\n    hist_data->actions[0].track_data.track_var:\n"
                         "      flags:\n"
                         "        HIST_FIELD_FL_VAR\n"
                         "      var.name: __max\n"
                         "      var.idx (into tracing_map_elt.vars[]): 1\n"
                         "      type: u64\n"
                         "      size: 8\n"
                         "      is_signed: 0\n"
                         "      function: hist_field_nop()\n"))
      << tracking;
  EXPECT_EQ(section(text, "  save action variables (save() params):\n"),
            "\n    hist_data->save_vars[0]:\n"
            "\n      save_vars[0].var:\n"
            "      flags:\n"
            "        HIST_FIELD_FL_VAR\n"
            "      var.name: next_pid\n"
            "      var.idx (into tracing_map_elt.vars[]): 2\n"
            "\n      save_vars[0].val:\n"
            "      ftrace_event_field name: next_pid\n"
            "      type: pid_t\n"
            "      size: 4\n"
            "      is_signed: 1\n");
}

TEST(HistDebugText, AliasAndConstant) {
  SwitchHist both;
  both.hist.variables.push_back(named("woken", "pid_t", kHistVar, 1));
  both.hist.variables[1]->operands[0] = named("", "pid_t", kHistAlias, 0);
  both.hist.variables[1]->operands[0]->ref_index = 1;
  both.hist.variables.push_back(named("seven", "u64", kHistVar, 2));
  both.hist.variables[2]->operands[0] = named("", "u64", kHistConst, 0);
  both.hist.variables[2]->operands[0]->constant = 7;
  const std::string text = debug_of(both.hist);
  EXPECT_NE(text.find("        HIST_FIELD_FL_VAR\n"
                      "        HIST_FIELD_FL_ALIAS\n"
                      "      var.name: woken\n"
                      "      var.idx (into tracing_map_elt.vars[]): 1\n"
                      "      var_ref_idx (into hist_data->var_refs[]): 1\n"
                      "      type: pid_t\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("        HIST_FIELD_FL_VAR\n"
                      "        HIST_FIELD_FL_CONST\n"
                      "      var.name: seven\n"
                      "      var.idx (into tracing_map_elt.vars[]): 2\n"
                      "      constant: 7\n"
                      "      type: u64\n"
                      "      size: 8\n"
                      "      is_signed: 0\n"
                      "      function: hist_field_const()\n"),
            std::string::npos)
      << text;
}

TEST(HistDebugText, FunctionsOfDivisions) {
  auto function_of = [](uint64_t divisor) {
    SwitchHist both;
    HistField* expression = both.hist.variables[0]->operands[0].get();
    expression->op = HistOperator::kDivide;
    expression->operands[1] = named("", "u64", kHistConst, 0);
    expression->operands[1]->constant = divisor;
    const std::string text = debug_of(both.hist);
    const size_t at = text.find("hist_field_div");
    return text.substr(at, text.find('(', at) - at);
  };
  EXPECT_EQ(function_of(8), "hist_field_div_power2");
  EXPECT_EQ(function_of(10), "hist_field_div_mult_shift");
  EXPECT_EQ(function_of((1u << 20) + 1), "hist_field_div_not_power2");
}

}  // namespace
}  // namespace patchbay
