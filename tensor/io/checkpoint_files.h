// A checkpoint on the disk: a directory of .safetensors files and a manifest. Whatever ends a program that replaces a
// checkpoint, the directory has the old one or the new one, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/io/checkpoint_manifest.h"
#include "tensor/io/file_path.h"
#include "tensor/io/file_system.h"
#include "tensor/io/safetensors.h"
#include "tensor/shape.h"

namespace troupe {

/// A tensor that a file will have.
struct TensorPlan {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const TensorPlan&, const TensorPlan&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, dtype, shape);
  }
};

/// Writes a checkpoint, file by file and byte by byte: no tensor has to be in this process as a whole. Its files have
/// names that no earlier checkpoint in the directory has. Readers see the earlier one until commit(). Without commit()
/// the destructor removes what was written. A directory has one writer at a time: a second one is refused, `[file] run:
/// another writer has locked it`, or on a file system without locks fails in commit() if another has removed its files.
/// Not thread-safe. Every function throws FileError.
class CheckpointWriter {
 public:
  /// Makes the directory, in one that exists, if it does not exist.
  CheckpointWriter(std::shared_ptr<FileSystem> files, const FilePath& directory);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Begins the next file of `part`. Returns the indices of `tensors` in the order in which the file has them: their
  /// bytes are written one tensor after the other. Throws also ValueError as write_safetensors(), and
  /// `[checkpoint] the name of a part is not UTF-8`.
  std::vector<std::size_t> begin_file(std::string part, const std::vector<TensorPlan>& tensors,
                                      const std::map<std::string, std::string>& metadata = {});
  void write(std::span<const std::byte> bytes);
  /// Throws std::logic_error unless all bytes of the file's tensors were written, and no more.
  void end_file();

  /// Makes this the checkpoint of the directory: writes the manifest, and renames it when all files are on the disk.
  /// After an error the directory has the earlier checkpoint or this one, whole.
  /// Throws also FileError `[checkpoint] run/troupe-checkpoint-1-0-net.safetensors: removed before the checkpoint was
  /// complete`.
  /// Then removes the files of earlier checkpoints, and of no others: those that the manifest before lists, and those
  /// with names of this writer's form. One that cannot be removed stays; the next commit() tries it again by its name.
  void commit();

 private:
  void check_written() const;
  void remove_earlier() noexcept;
  void remove(std::string_view name) noexcept;

  const std::shared_ptr<FileSystem> files_;
  const std::string directory_;
  std::unique_ptr<DirectoryLock> lock_;
  std::uint64_t generation_ = 1;
  std::vector<detail::ManifestFile> replaced_;  ///< files of the checkpoint before
  std::vector<detail::ManifestFile> written_;
  struct OpenFile;
  std::unique_ptr<OpenFile> open_;
  bool has_manifest_ = false;  ///< under its first name
  bool committed_ = false;
};

/// A file of a checkpoint, mapped into memory.
struct CheckpointFile {
  std::string part;
  std::string path;
  Safetensors content;
};

/// Reads the checkpoint of a directory, and every byte of it once to compare hashes. If a writer replaces it meanwhile,
/// this is that checkpoint or a newer one, whole. Allocates nothing of the size that a file claims. Throws FileError
/// that names the file: as read_safetensors(); `[checkpoint] run/manifest.json: No such file or directory`, `... at
/// byte 40: ...`; `[checkpoint] run/troupe-checkpoint-1-0-net.safetensors: 96 bytes, the manifest says 128`; `...: its
/// hash is 0123456789abcdef, the manifest says fedcba9876543210`.
[[nodiscard]] std::vector<CheckpointFile> read_checkpoint(const FilePath& directory);

/// Returns whether the directory has a checkpoint, which may be damaged. Throws FileError if that cannot be found out,
/// so that a program does not begin anew and replace it: `[checkpoint] run/manifest.json: Permission denied`.
[[nodiscard]] bool has_checkpoint(const FilePath& directory);

}  // namespace troupe
