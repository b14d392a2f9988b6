// SPDX-License-Identifier: MIT
#include "trace_dat/recorded_names.h"

#include <memory>

namespace patchbay {

AddressNames recorded_names(const TraceDatReader& file) {
  AddressNames names = AddressNames::from_kallsyms(file.kallsyms());
  const std::vector<ProcessImage>& images = file.images().images;
  if (images.empty()) return names;
  std::vector<std::vector<AddressNames::Range>> ranges;
  for (const ProcessImage& image : images) {
    std::vector<AddressNames::Range>& own = ranges.emplace_back();
    for (const ImageName& name : image.names) own.push_back({name.start, name.end, name.name});
  }
  auto finder = std::make_shared<ImageFinder>(images);
  names.set_images(std::move(ranges), [finder](int32_t tid, uint64_t ns) -> AddressNames::Owner {
    const uint32_t image = finder->find(tid, ns);
    if (image == ImageFinder::kNone) return {};
    const ImageThread* thread = finder->thread(tid, ns);
    return {image + 1, thread ? &thread->comm : nullptr};
  });
  return names;
}

}  // namespace patchbay
