#include "tensor/io/checkpoint_files.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "tensor/create.h"
#include "tests/tensor/io/crashing_files.h"
#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(checkpoint_files)

namespace {

const std::filesystem::path kRun = "run";

/// A file with tensors of value `number`.
void write_file(CheckpointWriter& writer, const std::string& part, double number) {
  const std::vector<TensorPlan> plans{{"bytes", DType::u8, {3}}, {"w", DType::f32, {2, 2}}, {"none", DType::f64, {0}}};
  for (const std::size_t index : writer.begin_file(part, plans, {{"owner", "ps0"}})) {
    const Tensor tensor = full(plans[index].shape, number, plans[index].dtype);
    const std::span all(tensor.bytes(), tensor.nbytes());
    writer.write(all.first(all.size() / 2));
    writer.write(all.subspan(all.size() / 2));
  }
  writer.end_file();
}

/// Two such files.
void write_checkpoint(const std::shared_ptr<FileSystem>& files, const std::filesystem::path& directory, double number) {
  CheckpointWriter writer(files, directory);
  for (const std::string part : {"net", "table"}) write_file(writer, part, number);
  writer.commit();
}

/// Returns the value of all tensors of the checkpoint, which must be whole.
double number_in(const std::filesystem::path& directory) {
  const auto files = read_checkpoint(directory);
  BOOST_TEST_REQUIRE(files.size() == 2U);
  BOOST_TEST(files[0].part == "net");
  BOOST_TEST(files[1].part == "table");
  std::optional<double> number;
  for (const CheckpointFile& file : files) {
    BOOST_TEST(file.content.tensors.size() == 3U);
    BOOST_TEST(file.content.metadata.at("owner") == "ps0");
    for (const auto& [name, tensor] : file.content.tensors) {
      const Tensor elements = tensor.to(DType::f64).reshape({-1});
      for (const double element : elements.data<double>()) {
        if (!number) number = element;
        BOOST_TEST(element == *number);
      }
    }
  }
  return number.value();
}

/// What a machine that was started again finds: the number of the checkpoint, or nothing.
std::optional<double> found_on(const CrashingFiles& files) {
  const TemporaryDirectory disk_copy;
  files.copy_to(disk_copy.path());
  if (!has_checkpoint(disk_copy.path() / kRun)) return std::nullopt;
  return number_in(disk_copy.path() / kRun);
}

/// Gives the files of a checkpoint the names that earlier versions gave them.
void rename_as_before(const std::filesystem::path& run, int generation) {
  const auto files = disk();
  const std::string manifest = run / "manifest.json";
  auto listed = detail::parse_manifest("test", files->read(manifest, 10'000));
  for (detail::ManifestFile& file : listed) {
    std::string name = std::to_string(generation);
    name += std::string_view(file.name).substr(std::string_view("troupe-checkpoint-1").size());
    files->rename(run / file.name, run / name);
    file.name = name;
  }
  files->remove(manifest);
  std::ofstream(manifest) << detail::format_manifest(listed);
}

/// The disk, as one whose file system has no locks.
struct DiskWithoutLocks : FileSystem {
  std::unique_ptr<OutputFile> create(const std::string& file) override { return disk()->create(file); }
  void rename(const std::string& from, const std::string& to) override { disk()->rename(from, to); }
  void remove(const std::string& file) override { disk()->remove(file); }
  std::string read(const std::string& file, std::size_t size_max) override { return disk()->read(file, size_max); }
  bool make_directory(const std::string& directory) override { return disk()->make_directory(directory); }
  std::unique_ptr<DirectoryLock> lock_directory(const std::string& /*directory*/) override { return nullptr; }
  void sync_directory(const std::string& directory) override { disk()->sync_directory(directory); }
  std::vector<std::string> names_in(const std::string& directory) override { return disk()->names_in(directory); }
};

/// The disk. Notes which directories are synced.
struct SyncedDirectories final : DiskWithoutLocks {
  void sync_directory(const std::string& directory) override {
    synced.push_back(directory);
    disk()->sync_directory(directory);
  }

  std::vector<std::string> synced;
};

int operations_of_a_save(const std::shared_ptr<const CrashingFiles>& before) {
  const auto files = before->restarted(Unsynced::kept, 0);
  write_checkpoint(files, kRun, 9);
  return files->operations();
}

}  // namespace

BOOST_AUTO_TEST_CASE(written_checkpoint_is_read_back_and_replaces_the_one_before) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  BOOST_TEST(!has_checkpoint(run));
  for (const double number : {1.0, 2.0, 3.0}) {
    write_checkpoint(disk(), run, number);
    BOOST_TEST(has_checkpoint(run));
    BOOST_TEST(number_in(run) == number);
    BOOST_TEST(disk()->names_in(run).size() == 3U);  // nothing of those before
  }
}

BOOST_AUTO_TEST_CASE(files_of_the_user_beside_a_checkpoint_stay_and_do_not_count) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(disk(), run, 1);
  const std::vector<std::string> own{"1-0-net.safetensors",
                                     "2026-11-28.safetensors",
                                     "troupe-checkpoint-07-0-net.safetensors",
                                     "troupe-checkpoint-7-0-net.safetensors.bak",
                                     "troupe-checkpoint-7-0-n-t.safetensors",
                                     "troupe-checkpoint-7-net.safetensors"};
  for (const std::string& name : own) std::ofstream(run / name) << "the user's";
  write_checkpoint(disk(), run, 2);
  write_checkpoint(disk(), run, 3);
  std::vector<std::string> expected = own;
  expected.insert(expected.end(), {"manifest.json", "troupe-checkpoint-3-0-net.safetensors",
                                   "troupe-checkpoint-3-1-table.safetensors"});
  std::ranges::sort(expected);
  BOOST_TEST(disk()->names_in(run) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(files_of_saves_that_were_ended_go_with_the_next_checkpoint) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(disk(), run, 1);
  std::ofstream(run / "troupe-checkpoint-5-0-net.safetensors") << "half";
  std::ofstream(run / "manifest.json.new") << "half";
  write_checkpoint(disk(), run, 2);
  const std::vector<std::string> expected{"manifest.json", "troupe-checkpoint-6-0-net.safetensors",
                                          "troupe-checkpoint-6-1-table.safetensors"};
  BOOST_TEST(disk()->names_in(run) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(checkpoint_with_the_names_of_earlier_versions_is_read_and_removed_when_it_is_replaced) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(disk(), run, 1);
  rename_as_before(run, 7);
  std::ofstream(run / "7-2-other.safetensors") << "the user's";
  BOOST_TEST(number_in(run) == 1.0);
  write_checkpoint(disk(), run, 2);
  BOOST_TEST(number_in(run) == 2.0);
  const std::vector<std::string> expected{"7-2-other.safetensors", "manifest.json",
                                          "troupe-checkpoint-8-0-net.safetensors",
                                          "troupe-checkpoint-8-1-table.safetensors"};
  BOOST_TEST(disk()->names_in(run) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(damaged_manifest_is_replaced_with_the_files_of_its_checkpoint) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(disk(), run, 1);
  // With a hash that is right, by whoever wrote it.
  const std::string too_large = R"({"format":"troupe checkpoint","version":1e999,"files":[],)";
  const std::string with_hash =
      too_large + fmt::format("\"xxh64\":\"{:016x}\"}}\n", XXH64(too_large.data(), too_large.size(), 0));
  for (const std::string& manifest : {std::string("damaged"), with_hash}) {
    std::ofstream(run / "manifest.json") << manifest;
    write_checkpoint(disk(), run, 2);
    BOOST_TEST(number_in(run) == 2.0);
    BOOST_TEST(disk()->names_in(run).size() == 3U);
  }
}

BOOST_AUTO_TEST_CASE(entry_that_cannot_be_removed_keeps_no_other_file) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(disk(), run, 1);
  std::filesystem::create_directory(run / "troupe-checkpoint-0-0-x.safetensors");
  for (const double number : {2.0, 3.0}) {
    write_checkpoint(disk(), run, number);
    BOOST_TEST(number_in(run) == number);
    BOOST_TEST(disk()->names_in(run).size() == 4U);  // with the directory
  }
}

BOOST_AUTO_TEST_CASE(save_that_cannot_replace_the_manifest_leaves_nothing_however_often_it_is_tried) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  std::filesystem::create_directories(run / "manifest.json" / "in the way");
  for (int i = 0; i < 3; ++i) {
    BOOST_CHECK_THROW(write_checkpoint(disk(), run, 1), FileError);
    BOOST_TEST(disk()->names_in(run).size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(the_directory_above_a_new_one_is_synced_however_the_path_ends) {
  const TemporaryDirectory directory;
  const std::string above = directory.path().string();
  const std::string name = directory.path().filename();
  for (const std::string& path : std::vector<std::string>{"/a", "/b/", "/c//", "//d", "/../" + name + "/e/"}) {
    const auto files = std::make_shared<SyncedDirectories>();
    write_checkpoint(files, above + path, 1);
    BOOST_REQUIRE(!files->synced.empty());
    BOOST_TEST(std::filesystem::equivalent(files->synced.front(), above));
  }
}

BOOST_AUTO_TEST_CASE(checkpoint_that_is_given_up_leaves_the_one_before_and_no_files) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(disk(), run, 1);
  {
    CheckpointWriter writer(disk(), run);
    writer.begin_file("net", {{"w", DType::f32, {1000}}});
  }
  BOOST_TEST(number_in(run) == 1.0);
  BOOST_TEST(disk()->names_in(run).size() == 3U);
}

BOOST_AUTO_TEST_CASE(second_writer_of_a_directory_is_refused_until_the_first_ends) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  {
    CheckpointWriter first(disk(), run);
    write_file(first, "net", 1);
    expect_error<FileError>("[file] " + run.string() + ": another writer has locked it",
                            [&] { write_checkpoint(disk(), run, 2); });
    write_file(first, "table", 1);
    first.commit();
  }
  BOOST_TEST(number_in(run) == 1.0);
  write_checkpoint(disk(), run, 3);
  BOOST_TEST(number_in(run) == 3.0);
}

BOOST_AUTO_TEST_CASE(writer_without_a_lock_whose_files_another_has_removed_fails_and_leaves_the_other_checkpoint) {
  const auto files = std::make_shared<DiskWithoutLocks>();
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  CheckpointWriter first(files, run);
  write_file(first, "net", 1);
  write_checkpoint(files, run, 2);
  write_file(first, "table", 1);
  expect_error<FileError>("[checkpoint] " + (run / "troupe-checkpoint-1-0-net.safetensors").string() +
                              ": removed before the checkpoint was complete",
                          [&] { first.commit(); });
  BOOST_TEST(number_in(run) == 2.0);
}

BOOST_AUTO_TEST_CASE(writer_without_a_lock_leaves_the_files_of_one_that_began_later) {
  const auto files = std::make_shared<DiskWithoutLocks>();
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  CheckpointWriter first(files, run);
  write_file(first, "net", 1);
  CheckpointWriter second(files, run);
  write_file(second, "net", 2);
  write_file(first, "table", 1);
  first.commit();
  BOOST_TEST(number_in(run) == 1.0);
  write_file(second, "table", 2);
  second.commit();
  BOOST_TEST(number_in(run) == 2.0);
  BOOST_TEST(disk()->names_in(run).size() == 3U);
}

BOOST_AUTO_TEST_CASE(file_that_does_not_get_the_bytes_of_its_tensors_is_refused) {
  const TemporaryDirectory directory;
  CheckpointWriter writer(disk(), directory.path() / "run");
  writer.begin_file("net", {{"w", DType::u8, {4}}});
  const std::array<std::byte, 5> bytes{};
  BOOST_CHECK_THROW(writer.write(bytes), std::logic_error);
  writer.write(std::span(bytes).first(3));
  BOOST_CHECK_THROW(writer.end_file(), std::logic_error);
  BOOST_CHECK_THROW(writer.commit(), std::logic_error);
  expect_error<ValueError>("[checkpoint] the name of a part is not UTF-8", [&] {
    CheckpointWriter(disk(), directory.path() / "other").begin_file("\xff", {{"w", DType::u8, {4}}});
  });
  expect_error<ValueError>("[checkpoint] w (4611686018427387904, 4) is too large", [&] {
    CheckpointWriter(disk(), directory.path() / "other")
        .begin_file("net", {{"w", DType::f32, {std::int64_t{1} << 62, 4}}});
  });
}

BOOST_AUTO_TEST_CASE(crash_at_any_operation_leaves_the_old_checkpoint_or_the_new_one,
                     *boost::unit_test::label("fault-F19")) {
  const auto before = std::make_shared<CrashingFiles>();
  write_checkpoint(before, kRun, 1);
  const int operations = operations_of_a_save(before);
  BOOST_TEST(operations > 20);
  std::map<double, int> found;
  for (int kill_at = 1; kill_at <= operations; ++kill_at) {
    for (unsigned seed = 0; seed < 12; ++seed) {
      const Unsynced unsynced = seed == 0 ? Unsynced::lost : seed == 1 ? Unsynced::kept : Unsynced::any;
      const auto files = before->restarted(Unsynced::kept, 0, kill_at);
      try {
        write_checkpoint(files, kRun, 2);
      } catch (const Killed&) {
      }
      const auto after = files->restarted(unsynced, seed);
      BOOST_TEST_CONTEXT("killed at operation " << kill_at << ", seed " << seed) {
        const auto number = found_on(*after);
        BOOST_TEST_REQUIRE(number.has_value());
        ++found[*number];
        write_checkpoint(after, kRun, 3);  // whatever the crash has left
        BOOST_TEST(found_on(*after).value_or(0) == 3.0);
        BOOST_TEST(after->names_in(kRun).size() == 3U);
      }
    }
  }
  BOOST_TEST(found.size() == 2U);
  BOOST_TEST(found[1] > 0);
  BOOST_TEST(found[2] > 0);
}

BOOST_AUTO_TEST_CASE(crash_during_the_first_save_leaves_none_or_the_new_one) {
  const auto before = std::make_shared<CrashingFiles>();
  const int operations = operations_of_a_save(before);
  for (int kill_at = 1; kill_at <= operations; ++kill_at) {
    for (unsigned seed = 0; seed < 12; ++seed) {
      const auto files = std::make_shared<CrashingFiles>(kill_at);
      try {
        write_checkpoint(files, kRun, 2);
      } catch (const Killed&) {
      }
      const auto after = files->restarted(Unsynced::any, seed);
      BOOST_TEST_CONTEXT("killed at operation " << kill_at << ", seed " << seed) {
        BOOST_TEST(found_on(*after).value_or(2) == 2.0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(first_checkpoint_of_a_directory_that_was_not_synced_survives_a_crash) {
  const auto files = std::make_shared<CrashingFiles>();
  BOOST_TEST(files->make_directory(kRun));  // by a save that failed then
  write_checkpoint(files, kRun, 2);
  BOOST_TEST(found_on(*files->restarted(Unsynced::lost, 0)).value_or(0) == 2.0);
}

BOOST_AUTO_TEST_CASE(disk_that_refuses_any_operation_leaves_the_checkpoint_before_or_the_new_one,
                     *boost::unit_test::label("fault-F19")) {
  /// Fails one operation, as a full disk does; the program goes on.
  class Failing final : public FileSystem {
   public:
    Failing(std::shared_ptr<FileSystem> files, int fail_at) : files_(std::move(files)), left_(fail_at) {}
    std::unique_ptr<OutputFile> create(const std::string& file) override {
      take();
      return std::make_unique<Output>(*this, files_->create(file));
    }
    void rename(const std::string& from, const std::string& to) override {
      take();
      files_->rename(from, to);
    }
    void remove(const std::string& file) override {
      take();
      files_->remove(file);
    }
    std::string read(const std::string& file, std::size_t size_max) override {
      take();
      return files_->read(file, size_max);
    }
    bool make_directory(const std::string& directory) override {
      take();
      return files_->make_directory(directory);
    }
    std::unique_ptr<DirectoryLock> lock_directory(const std::string& directory) override {
      take();
      return files_->lock_directory(directory);
    }
    void sync_directory(const std::string& directory) override {
      take();
      files_->sync_directory(directory);
    }
    std::vector<std::string> names_in(const std::string& directory) override {
      take();
      return files_->names_in(directory);
    }

   private:
    struct Output final : OutputFile {
      Output(Failing& f, std::unique_ptr<OutputFile> o) : files(f), out(std::move(o)) {}
      void write(std::span<const std::byte> bytes) override {
        files.take();
        out->write(bytes);
      }
      void finish() override {
        files.take();
        out->finish();
      }
      Failing& files;
      std::unique_ptr<OutputFile> out;
    };
    void take() {
      if (--left_ == 0) throw FileError("[file] No space left on device");
    }
    std::shared_ptr<FileSystem> files_;
    int left_;
  };
  const auto before = std::make_shared<CrashingFiles>();
  write_checkpoint(before, kRun, 1);
  const int operations = operations_of_a_save(before);
  for (int fail_at = 1; fail_at <= operations; ++fail_at) {
    const auto files = before->restarted(Unsynced::kept, 0);
    bool failed = false;
    try {
      write_checkpoint(std::make_shared<Failing>(files, fail_at), kRun, 2);
    } catch (const FileError&) {
      failed = true;
    }
    // The last operations: a sync, which comes after the rename, a list of names and two removals, which may fail. So
    // may the fourth one, which reads the manifest that is replaced.
    const int last_sync = operations - 3;
    BOOST_TEST_CONTEXT("operation " << fail_at) {
      if (fail_at == 4) {
        BOOST_TEST(!failed);
        BOOST_TEST(found_on(*files).value_or(0) == 2.0);
        continue;
      }
      BOOST_TEST(failed == (fail_at <= last_sync));
      if (fail_at < last_sync) BOOST_TEST(files->names_in(kRun).size() == 3U);  // what was written is removed
      BOOST_TEST(found_on(*files).value_or(0) == (fail_at < last_sync ? 1.0 : 2.0));
    }
  }
}

BOOST_AUTO_TEST_CASE(no_checkpoint_is_there_only_if_the_manifest_is_certainly_missing) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  BOOST_TEST(!has_checkpoint(run));
  std::ofstream(run) << "a file";
  BOOST_TEST(!has_checkpoint(run));
  std::filesystem::remove(run);
  std::filesystem::create_directory(run);
  BOOST_TEST(!has_checkpoint(run));
  std::ofstream(run / "manifest.json") << "damaged";
  BOOST_TEST(has_checkpoint(run));
  std::filesystem::remove_all(run);
  std::filesystem::create_directory_symlink("run", run);  // leads to itself
  expect_error<FileError>("[checkpoint] " + (run / "manifest.json").string() + ": Too many levels of symbolic links",
                          [&] { static_cast<void>(has_checkpoint(run)); });
}

BOOST_AUTO_TEST_CASE(damaged_file_is_refused_with_its_name_and_both_hashes, *boost::unit_test::label("fault-F19")) {
  const TemporaryDirectory directory;
  const auto run = directory.path() / "run";
  write_checkpoint(disk(), run, 1);
  const auto file = run / "troupe-checkpoint-1-0-net.safetensors";
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto set = [&](const std::string& changed) {
    std::filesystem::remove(file);
    std::ofstream(file, std::ios::binary).write(changed.data(), std::ssize(changed));
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    set(changed);
    BOOST_CHECK_EXCEPTION(static_cast<void>(read_checkpoint(run)), FileError, [&](const FileError& error) {
      return std::string_view(error.what()).starts_with("[checkpoint] " + file.string() + ": its hash is ");
    });
  }
  set(bytes.substr(1));
  expect_error<FileError>("[checkpoint] " + file.string() + ": " + std::to_string(bytes.size() - 1) +
                              " bytes, the manifest says " + std::to_string(bytes.size()),
                          [&] { static_cast<void>(read_checkpoint(run)); });
  std::filesystem::remove(file);
  expect_error<FileError>("[checkpoint] " + file.string() + ": No such file or directory",
                          [&] { static_cast<void>(read_checkpoint(run)); });
  expect_error<FileError>(
      "[checkpoint] " + (directory.path() / "manifest.json").string() + ": No such file or directory",
      [&] { static_cast<void>(read_checkpoint(directory.path())); });
}

BOOST_AUTO_TEST_SUITE_END()
