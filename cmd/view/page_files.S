// SPDX-License-Identifier: MIT
// The page's files, as they are in cmd/view/page, in the tool itself. Each name has a begin and an
// end (page_text.cc).
#define PAGE_FILE(name, file)                \
  .globl page_##name##_begin;                \
  .globl page_##name##_end;                  \
  .hidden page_##name##_begin;               \
  .hidden page_##name##_end;                 \
  page_##name##_begin: .incbin file;         \
  page_##name##_end: .byte 0

  .section .rodata
  PAGE_FILE(html, "cmd/view/page/page.html")
  PAGE_FILE(style, "cmd/view/page/page.css")
  PAGE_FILE(columns, "cmd/view/page/columns.js")
  PAGE_FILE(model, "cmd/view/page/model.js")
  PAGE_FILE(worker, "cmd/view/page/worker.js")
  PAGE_FILE(text, "cmd/view/page/text.js")
  PAGE_FILE(recording, "cmd/view/page/recording.js")
  PAGE_FILE(query, "cmd/view/page/query.js")
  PAGE_FILE(tracks, "cmd/view/page/tracks.js")
  PAGE_FILE(timeline, "cmd/view/page/timeline.js")
  PAGE_FILE(pointing, "cmd/view/page/pointing.js")
  PAGE_FILE(grid, "cmd/view/page/grid.js")
  PAGE_FILE(calls_view, "cmd/view/page/calls_view.js")
  PAGE_FILE(flame_view, "cmd/view/page/flame_view.js")
  PAGE_FILE(charts, "cmd/view/page/charts.js")
  PAGE_FILE(spread_view, "cmd/view/page/spread_view.js")
  PAGE_FILE(events_view, "cmd/view/page/events_view.js")
  PAGE_FILE(details, "cmd/view/page/details.js")
  PAGE_FILE(about_view, "cmd/view/page/about_view.js")
  PAGE_FILE(live_view, "cmd/view/page/live_view.js")
  PAGE_FILE(app, "cmd/view/page/app.js")

  .section .note.GNU-stack, "", @progbits
