#include "tensor/io/checkpoint_reader.h"

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "tensor/create.h"
#include "tensor/io/mapped_file.h"
#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(checkpoint_reader)

namespace {

/// `count` files with a tensor of value `number` each.
void write_checkpoint(const std::filesystem::path& directory, double number, int count = 2) {
  CheckpointWriter writer(disk(), directory);
  for (int i = 0; i < count; ++i) {
    const Tensor tensor = full({100}, number);
    static_cast<void>(writer.begin_file("part", {{"w", tensor.dtype(), tensor.shape()}}));
    writer.write({tensor.bytes(), tensor.nbytes()});
    writer.end_file();
  }
  writer.commit();
}

/// Fails unless all tensors have value `number`.
void expect_number(const std::vector<CheckpointFile>& files, double number, std::size_t count = 2) {
  BOOST_TEST(files.size() == count);
  for (const CheckpointFile& file : files) expect_same(file.content.tensors.at(0).second, full({100}, number));
}

/// A directory with a checkpoint of value 1. Changes of it happen before its files are opened.
class ChangingRun {
 public:
  ChangingRun() { write_checkpoint(path(), 1); }

  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "run"; }
  /// `change` happens before opening number `opening`; the manifest is the first.
  void before(int opening, std::function<void()> change) { changes_[opening] = std::move(change); }
  std::vector<CheckpointFile> read() {
    return detail::read_checkpoint(path(), [this](const std::string& file) {
      if (const auto found = changes_.find(++openings_); found != changes_.end()) found->second();
      return detail::map_file_if_exists("checkpoint", file);
    });
  }
  [[nodiscard]] int openings() const { return openings_; }

 private:
  TemporaryDirectory directory_;
  std::map<int, std::function<void()>> changes_;
  int openings_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_file_is_opened_once) {
  ChangingRun run;
  expect_number(run.read(), 1);
  BOOST_TEST(run.openings() == 3);  // the manifest and two files
}

BOOST_AUTO_TEST_CASE(checkpoint_that_replaces_another_while_that_is_opened_is_read_as_a_whole) {
  for (const int opening : {1, 2, 3}) {
    ChangingRun run;
    run.before(opening, [&] { write_checkpoint(run.path(), 2); });
    BOOST_TEST_CONTEXT("replaced before opening " << opening) { expect_number(run.read(), 2); }
  }
}

BOOST_AUTO_TEST_CASE(checkpoint_is_read_as_it_was_when_its_files_were_opened) {
  ChangingRun run;
  run.before(3, [&] {  // the first file is open
    for (const std::string& name : disk()->names_in(run.path())) {
      if (name.find("-0-part") == std::string::npos) continue;
      std::filesystem::remove(run.path() / name);
      std::ofstream(run.path() / name) << "another";
    }
  });
  expect_number(run.read(), 1);
}

BOOST_AUTO_TEST_CASE(reader_begins_again_as_long_as_there_are_newer_checkpoints) {
  ChangingRun run;
  for (int i = 1; i <= 5; ++i) run.before(2 * i, [&run, i] { write_checkpoint(run.path(), 1 + i); });
  expect_number(run.read(), 6);
  BOOST_TEST(run.openings() == 5 * 2 + 3);  // a manifest and a missing file each time, then all
}

BOOST_AUTO_TEST_CASE(checkpoint_without_files_that_replaces_another_is_read) {
  ChangingRun run;
  run.before(2, [&] { write_checkpoint(run.path(), 2, 0); });
  expect_number(run.read(), 2, 0);
}

BOOST_AUTO_TEST_CASE(file_that_is_missing_is_an_error_if_no_newer_checkpoint_is_there) {
  ChangingRun run;
  const auto missing = run.path() / "troupe-checkpoint-1-1-part.safetensors";
  std::filesystem::remove(missing);
  expect_error<FileError>("[checkpoint] " + missing.string() + ": No such file or directory",
                          [&] { static_cast<void>(run.read()); });
  BOOST_TEST(run.openings() == 4);  // the manifest, a file, the one that is missing, the manifest again
}

BOOST_AUTO_TEST_CASE(manifest_that_is_missing_or_gets_lost_is_an_error) {
  ChangingRun run;
  const std::string refused = "[checkpoint] " + (run.path() / "manifest.json").string() + ": No such file or directory";
  run.before(2, [&] { std::filesystem::remove_all(run.path()); });
  expect_error<FileError>(refused, [&] { static_cast<void>(run.read()); });
  expect_error<FileError>(refused, [&] { static_cast<void>(run.read()); });
}

BOOST_AUTO_TEST_CASE(reader_on_a_thread_of_its_own_always_finds_a_whole_checkpoint) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(run, 0);
  std::atomic<bool> is_done = false;
  std::jthread writer([&] {
    for (int i = 1; i <= 50; ++i) write_checkpoint(run, i);
    is_done = true;
  });
  double last = 0;
  while (!is_done) {
    const auto files = read_checkpoint(run);
    const double number = files.at(0).content.tensors.at(0).second.data<float>()[0];
    expect_number(files, number);
    BOOST_TEST_REQUIRE(number >= last);
    last = number;
  }
  writer.join();
  expect_number(read_checkpoint(run), 50);
}

BOOST_AUTO_TEST_SUITE_END()
