// SPDX-License-Identifier: MIT
#include "cmd/report/report_decoder.h"

#include <utility>

#include "trace_dat/recorded_names.h"

namespace patchbay::cmd {
namespace {

void make_lines(const TraceInput& input, ReportDecoder* decoder) {
  decoder->lines = std::make_unique<TraceLineWriter>(decoder->events, &decoder->names);
  decoder->lines->set_printk(&decoder->printk);
  decoder->lines->set_arguments(
      [arguments = decoder->arguments.get(), names = &decoder->names](uint64_t function) {
        const std::lock_guard lock(arguments->mutex);  // the answer stays where it is
        return arguments->recorded.of(function, names->image());
      });
  if (input.dat) decoder->lines->set_comms(input.dat->cmdlines());
  if (input.buffer)
    for (const abi::CommEntry& entry : input.buffer->comms())
      decoder->lines->set_comm(int32_t(entry.tid), entry.comm);
}

}  // namespace

Result<std::unique_ptr<ReportDecoder>> make_report_decoder(const TraceInput& input) {
  auto decoder = std::make_unique<ReportDecoder>();
  if (input.dat) {
    decoder->events = input.dat->events();
    decoder->names = recorded_names(*input.dat);
    decoder->printk = PrintkTexts::from_formats(input.dat->printk_formats());
  } else {
    PB_ASSIGN(auto meta, read_recorded_meta(*input.buffer));
    decoder->events = std::move(meta.events);
    decoder->names =
        AddressNames::from_symbols(make_recorded_symbol_table(std::move(meta.modules)));
  }
  if (input.buffer) decoder->printk.add(input.buffer->printk_texts());
  decoder->arguments = std::make_shared<ReportDecoder::Arguments>(input);
  make_lines(input, decoder.get());
  return decoder;
}

std::unique_ptr<ReportDecoder> make_report_decoder_like(const TraceInput& input,
                                                        const ReportDecoder& first) {
  auto decoder = std::make_unique<ReportDecoder>();
  decoder->events = first.events;
  decoder->names = recorded_names_like(*input.dat, first.names);
  decoder->printk = PrintkTexts::from_formats(input.dat->printk_formats());
  decoder->arguments = first.arguments;
  make_lines(input, decoder.get());
  return decoder;
}

}  // namespace patchbay::cmd
