// SPDX-License-Identifier: MIT
#include "trace_dat/recorded_names.h"

#include <memory>

namespace patchbay {

namespace {

AddressNames::OwnerOf owner_of(const TraceDatReader& file) {
  auto finder = std::make_shared<ImageFinder>(file.images().images);
  return [finder](int32_t tid, uint64_t ns) -> AddressNames::Owner {
    const uint32_t image = finder->find(tid, ns);
    if (image == ImageFinder::kNone) return {};
    const ImageThread* thread = finder->thread(tid, ns);
    return {image + 1, thread ? &thread->comm : nullptr};
  };
}

}  // namespace

AddressNames recorded_names(const TraceDatReader& file) {
  AddressNames names = AddressNames::from_kallsyms(file.kallsyms());
  const std::vector<ProcessImage>& images = file.images().images;
  if (images.empty()) return names;
  std::vector<std::vector<AddressNames::Range>> ranges;
  for (const ProcessImage& image : images) {
    std::vector<AddressNames::Range>& own = ranges.emplace_back();
    for (const ImageName& name : image.names) own.push_back({name.start, name.end, name.name});
  }
  names.set_images(std::move(ranges), owner_of(file));
  return names;
}

AddressNames recorded_names_like(const TraceDatReader& file, const AddressNames& names) {
  return names.like_these(names.has_images() ? owner_of(file) : nullptr);
}

}  // namespace patchbay
