// Helpers that the file tests share: a file with given bytes, and the errors of a reader for malformed bytes.
#pragma once

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "tensor/io/file_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensor/expect.h"

namespace troupe::testing {

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// A directory with one file, whose bytes the test replaces.
class FileOfBytes {
 public:
  explicit FileOfBytes(const std::string& name) : path_(directory_.path() / name) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Always creates a new file: a reader that has mapped the previous one keeps it, and the file system need not wait
  /// for the disk, as some do when a file is truncated and rewritten.
  const std::filesystem::path& set(std::string_view bytes) const {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return path_;
  }
  [[nodiscard]] std::string get() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Returns the names of all files in the directory.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

 private:
  TemporaryDirectory directory_;
  std::filesystem::path path_;
};

/// Fails unless `read()` throws FileError `[format] <path><text>`.
template <class Read>
void expect_refused(const FileOfBytes& file, std::string_view format, std::string_view text, const Read& read) {
  expect_error<FileError>(fmt::format("[{}] {}{}", format, file.path().string(), text), read);
}

/// Fails unless every proper prefix of `bytes` is refused.
template <class Read>
void expect_all_beginnings_refused(const FileOfBytes& file, std::string_view bytes, const Read& read) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    file.set(bytes.substr(0, size));
    BOOST_TEST_CONTEXT("the first " << size << " bytes") { BOOST_CHECK_THROW(read(), FileError); }
  }
}

/// Overwrites 1 to 4 bytes at a time. Fails if `read()` throws anything but FileError. Returns how often `read()`
/// returned a value.
template <class Read>
int count_values_of_damaged(const FileOfBytes& file, const std::string& bytes, unsigned seeds, const Read& read) {
  int values = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    std::string damaged = bytes;
    const unsigned count = 1 + static_cast<unsigned>(random()) % 4;
    for (unsigned i = 0; i < count; ++i) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    file.set(damaged);
    try {
      read();
      ++values;
    } catch (const FileError&) {
    } catch (const std::exception& error) {
      BOOST_ERROR("seed " << seed << ": " << error.what());
    }
  }
  return values;
}

}  // namespace troupe::testing
