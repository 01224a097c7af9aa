#include "actors/checkpoint/embedding_part.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "actors/references/copied_variables.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

constexpr const char* kRows = "rows";

std::int64_t number_in(const CheckpointFile& file, const std::string& key) {
  const auto found = file.content.metadata.find(key);
  const std::string text = found == file.content.metadata.end() ? "" : found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw ValueError(fmt::format("[checkpoint] {}: {} is not a number: \"{}\"", file.path, key, text));
  return number;
}

/// The saved rows of a table, whichever owners they had.
class SavedTable {
 public:
  SavedTable(const std::vector<CheckpointFile>& files, const EmbeddingTable& table)
      : row_bytes_(static_cast<std::size_t>(table.width) * size_of(table.dtype)), parts_(files.size()) {
    for (const CheckpointFile& file : files) {
      const std::int64_t rows = number_in(file, "table_rows");
      if (rows != table.rows)
        throw ValueError(fmt::format("[checkpoint] {}: table of {} rows, not {}", file.path, rows, table.rows));
      const std::int64_t owner = number_in(file, "owner");
      if (number_in(file, "owners") != std::ssize(files) || owner < 0 || owner >= std::ssize(files) ||
          parts_[static_cast<std::size_t>(owner)].owned) {
        throw ValueError(fmt::format("[checkpoint] {}: owner {} is missing or given twice", file.path, owner));
      }
      const auto owned = std::make_unique<OwnedRows>(rows, std::ssize(files), owner);
      check_plans("checkpoint", {{kRows, table.dtype, {owned->count(), table.width}}}, plans_of(file.content.tensors));
      parts_[static_cast<std::size_t>(owner)] = {std::make_shared<const OwnedRows>(*owned),
                                                 file.content.tensors.front().second.contiguous().freeze()};
    }
  }

  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }

  void copy_row(std::int64_t row, std::byte* to) const {
    const Part& part = parts_[static_cast<std::size_t>(owner_of(row, std::ssize(parts_)))];
    const auto place = static_cast<std::size_t>(part.owned->place_of(row));
    std::memcpy(to, part.bytes.bytes().data() + place * row_bytes_, row_bytes_);
  }

 private:
  struct Part {
    std::shared_ptr<const OwnedRows> owned;  ///< null: not given yet
    FrozenBytes bytes;
  };
  std::size_t row_bytes_;
  std::vector<Part> parts_;
};

/// Reads the rows of a new owner, in ascending order, from the first to the last.
TensorSource source_of(const std::shared_ptr<const SavedTable>& saved, const OwnedRows& owned) {
  const std::size_t row_bytes = saved->row_bytes();
  const auto next = std::make_shared<std::int64_t>(-1);  // the row before the next one
  return {static_cast<std::uint64_t>(owned.count()) * row_bytes, row_bytes,
          [saved, owned, row_bytes, next](std::uint64_t /*first*/, std::uint64_t count) {
            Tensor bytes = Tensor::empty({static_cast<std::int64_t>(count)}, DType::u8);
            std::byte* to = bytes.mutable_bytes();
            for (std::uint64_t done = 0; done < count; done += row_bytes) {
              *next = owned.next_after(*next);
              saved->copy_row(*next, to + done);
            }
            return bytes;
          }};
}

}  // namespace

RemotePart part_of(const ShardedEmbedding& table) {
  RemotePart part;
  part.snapshots = [table](const Scope& scope) {
    std::vector<RRef<StateSnapshot>> snapshots;
    for (const auto& shard : table.shards())
      snapshots.push_back(scope.remote(shard.owner(), &snapshot_of_shard, shard));
    return snapshots;
  };
  part.stage = [table](const Scope& scope, const std::vector<CheckpointFile>& files) {
    const auto saved = std::make_shared<const SavedTable>(files, table.table());
    const std::int64_t owners = std::ssize(table.shards());
    std::vector<Staging> stagings;
    for (const auto& shard : table.shards()) {
      const OwnedRows owned(table.table().rows, owners, std::ssize(stagings));
      const std::vector<TensorPlan> plans{{kRows, table.table().dtype, {owned.count(), table.table().width}}};
      stagings.push_back({scope.remote(shard.owner(), &stage_shard, shard, plans), {source_of(saved, owned)}});
    }
    return stagings;
  };
  return part;
}

StateSnapshot snapshot_of_shard(Scope& scope, const RRef<EmbeddingShard>& shard) {
  std::map<std::string, std::string> notes;
  {
    const auto value = shard.local_value(scope);
    notes = {{"table_rows", std::to_string(value->table_rows())},
             {"owners", std::to_string(value->owners())},
             {"owner", std::to_string(value->owner())}};
  }
  const auto read = [shard](const Scope& now) {
    return NamedTensors{{kRows, shard.local_value(now)->weight().value()}};
  };
  return StateSnapshot(scope, read, std::move(notes));
}

StagedState stage_shard(Scope& scope, const RRef<EmbeddingShard>& shard, const std::vector<TensorPlan>& plans) {
  check_plans("checkpoint", plans_of({{kRows, shard.local_value(scope)->weight().value()}}), plans);
  return StagedState(plans, [shard](const Scope& now, const NamedTensors& state) {
    const Variable weight = shard.local_value(now)->weight();
    weight.set_value(state.front().second.to(weight.device()));
    announce_changes(now.state(), {weight});
  });
}

}  // namespace troupe::detail
