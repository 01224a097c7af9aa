// A file system in memory whose program can be ended at any operation, and whose machine then forgets what was not
// synced: for tests of files that must survive a crash.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/io/file_system.h"

namespace troupe::testing {

/// What a crash leaves of changes that were not synced.
enum class Unsynced { lost, kept, any };

/// Thrown by the operation at which the program ends. Later operations do nothing.
struct Killed final : std::exception {};

/// One directory; paths are compared as text. Operations are numbered from 1 on.
class CrashingFiles final : public FileSystem {
 public:
  explicit CrashingFiles(int kill_at = 0) : kill_at_(kill_at) {}

  /// Returns a machine that was started again after the crash.
  [[nodiscard]] std::shared_ptr<CrashingFiles> restarted(Unsynced unsynced, unsigned seed, int kill_at = 0) const {
    auto next = std::make_shared<CrashingFiles>(kill_at);
    std::mt19937 random(seed);
    const auto survives = [&] {
      return unsynced == Unsynced::kept || (unsynced == Unsynced::any && random() % 2 == 0);
    };
    next->directories_ = durable_directories_;
    for (const std::string& made : directories_) {
      if (!durable_directories_.contains(made) && survives()) next->directories_.insert(made);
    }
    auto entries = durable_;
    for (const auto& change : changes_) {
      if (survives()) change(entries);
    }
    for (const auto& [path, file] : entries) {
      if (!next->directories_.contains(std::filesystem::path(path).parent_path().string())) continue;
      auto copy = std::make_shared<File>(*file);
      std::size_t size = unsynced == Unsynced::lost ? copy->synced : copy->bytes.size();
      if (unsynced == Unsynced::any) size = copy->synced + random() % (copy->bytes.size() - copy->synced + 1);
      copy->bytes.resize(size);
      copy->synced = size;
      next->live_[path] = copy;
    }
    next->durable_ = next->live_;
    next->durable_directories_ = next->directories_;
    return next;
  }

  /// Writes everything to a directory on the disk.
  void copy_to(const std::filesystem::path& directory) const {
    for (const std::string& made : directories_) std::filesystem::create_directories(directory / made);
    for (const auto& [path, file] : live_) {
      std::ofstream(directory / path, std::ios::binary).write(file->bytes.data(), std::ssize(file->bytes));
    }
  }

  [[nodiscard]] int operations() const { return operations_; }

  std::unique_ptr<OutputFile> create(const std::string& path) override {
    auto file = std::make_shared<File>();
    if (begin()) {
      if (live_.contains(path)) throw FileError("[file] " + path + ": File exists");
      change([path, file](Entries& entries) { entries[path] = file; });
    }
    return std::make_unique<Output>(*this, file);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (!begin()) return;
    change([from, to](Entries& entries) {
      if (const auto found = entries.find(from); found != entries.end()) {
        entries[to] = found->second;
        entries.erase(from);
      }
    });
  }
  void remove(const std::string& path) override {
    if (begin()) change([path](Entries& entries) { entries.erase(path); });
  }
  std::string read(const std::string& path, std::size_t size_max) override {
    if (!begin()) return {};
    const auto found = live_.find(path);
    if (found == live_.end() || found->second->bytes.size() > size_max) throw FileError("[file] " + path);
    return found->second->bytes;
  }
  bool make_directory(const std::string& path) override { return begin() && directories_.insert(path).second; }
  std::unique_ptr<DirectoryLock> lock_directory(const std::string& /*path*/) override { return begin(), nullptr; }
  void sync_directory(const std::string& path) override {
    if (!begin()) return;
    if (!directories_.contains(path)) {  // the one above
      durable_directories_ = directories_;
      return;
    }
    durable_ = live_;
    changes_.clear();
  }
  std::vector<std::string> names_in(const std::string& path) override {
    std::vector<std::string> names;
    if (!begin()) return names;
    for (const auto& [of, file] : live_) {
      if (std::filesystem::path(of).parent_path() == path) names.push_back(std::filesystem::path(of).filename());
    }
    return names;
  }

 private:
  struct File {
    std::string bytes;
    std::size_t synced = 0;  ///< bytes that a crash leaves
  };
  using Entries = std::map<std::string, std::shared_ptr<File>>;

  class Output final : public OutputFile {
   public:
    Output(CrashingFiles& files, std::shared_ptr<File> file) : files_(files), file_(std::move(file)) {}
    void write(std::span<const std::byte> bytes) override {
      const auto* text = reinterpret_cast<const char*>(bytes.data());
      if (files_.is_last()) file_->bytes.append(text, bytes.size() / 2);
      if (files_.begin()) file_->bytes.append(text, bytes.size());
    }
    void finish() override {
      if (files_.begin()) file_->synced = file_->bytes.size();
    }

   private:
    CrashingFiles& files_;
    std::shared_ptr<File> file_;
  };

  [[nodiscard]] bool is_last() const { return operations_ + 1 == kill_at_; }
  /// Returns false if the program has ended.
  bool begin() {
    ++operations_;
    if (operations_ == kill_at_) throw Killed();
    return kill_at_ == 0 || operations_ < kill_at_;
  }
  void change(std::function<void(Entries&)> make) {
    make(live_);
    changes_.push_back(std::move(make));
  }

  const int kill_at_;
  int operations_ = 0;
  Entries live_;
  Entries durable_;                                     // of the last sync
  std::vector<std::function<void(Entries&)>> changes_;  // since then
  std::set<std::string> directories_;
  std::set<std::string> durable_directories_;
};

}  // namespace troupe::testing
