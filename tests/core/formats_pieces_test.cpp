// Files read in pieces of every size: the same model, and no more asked for at once than is needed.
#include <doctest/doctest.h>

#include <span>

#include "tests/core/formats_folder.hpp"

using namespace relata;
using namespace relata::test;

TEST_CASE("a file gives the same model in pieces of any size") {
  for (const Folder& folder : {relata_folder(), t5_folder()}) {
    for (const KeptType type : {KeptType::f32, KeptType::int8}) {
      const Loaded whole = load(folder, {type, 0});
      REQUIRE(whole.ok());
      for (std::uint64_t most = 1; most < 900; most += most < 40 ? 1 : 61) {
        const Loaded pieces = load(folder, {type, most});
        REQUIRE(pieces.ok());
        const auto expected = matrices_of(*whole.model);
        const auto found = matrices_of(*pieces.model);
        std::vector<float> row(8), other(8);
        int wrong = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          for (int col = 0; col < expected[i]->cols(); ++col) {
            expected[i]->copy_row(col, row.data());
            found[i]->copy_row(col, other.data());
            wrong += row == other ? 0 : 1;
          }
        }
        CHECK_EQ(wrong, 0);
      }
    }
  }
}

TEST_CASE("a large matrix comes in whole panels of rows, small tensors together") {
  Folder folder = t5_folder();
  folder.config = replaced(folder.config, "\"vocab_size\": 5", "\"vocab_size\": 100");
  FileTensor& shared = folder.tensor("shared.weight");
  shared.shape = {100, 4};
  for (std::size_t i = 20; i < 400; ++i) {
    shared.values.push_back(value_of(shared.name, i));
  }
  const WeightsFile file = write_weights(folder.tensors);
  const std::string head = file.head();
  const auto asked = [&](KeptType type) {
    auto opened = ModelLoader::open(
        {folder.config, "", std::as_bytes(std::span(head.data(), head.size())), file.size()}, type);
    REQUIRE(opened.ok());
    std::vector<std::uint64_t> sizes;
    while (opened.value().next() != nullptr) {
      const FileRange range = opened.value().want(600);
      sizes.push_back(range.bytes);
      // Asked again, it is the same.
      CHECK(opened.value().want(600).bytes == range.bytes);
      CHECK(opened.value().want(600).offset == range.offset);
      REQUIRE(opened.value()
                  .accept(std::as_bytes(std::span(file.data.data() + (range.offset - head.size()),
                                                  static_cast<std::size_t>(range.bytes))))
                  .ok());
    }
    CHECK(opened.value().want(600).bytes == 0);
    CHECK(opened.value().finish().ok());
    return sizes;
  };
  const auto parts = asked(KeptType::f32);
  CHECK(parts.size() < folder.tensors.size());
  REQUIRE(parts.size() > 4);
  // 1,600 bytes: two panels of 16 rows at a time, and what is left at the end.
  CHECK(std::vector(parts.end() - 3, parts.end()) == std::vector<std::uint64_t>{512, 512, 576});
  CHECK(asked(KeptType::int8).back() == 1600);
}
