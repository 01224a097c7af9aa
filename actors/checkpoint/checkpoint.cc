#include "actors/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>
#include <variant>

#include "actors/collect.h"
#include "actors/core/node_core.h"
#include "actors/future.h"
#include "actors/shards/prepared_load.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/generator_state.h"

namespace troupe {
namespace {

using detail::StagedState;
using detail::StateSnapshot;

constexpr std::size_t kChunksAhead = 4;  // on their way at the same time

/// The bytes of a tensor in chunks, the last of which may be shorter.
struct Chunks {
  std::uint64_t bytes = 0;
  std::uint64_t each = 1;
  std::uint64_t next = 0;

  [[nodiscard]] bool done() const { return next == bytes; }
  /// Returns the first byte and the number of bytes of the next chunk.
  std::pair<std::uint64_t, std::uint64_t> take() {
    const std::uint64_t first = next;
    next += std::min(each, bytes - next);
    return {first, next - first};
  }
};

std::uint64_t bytes_of(const TensorPlan& plan) {
  return static_cast<std::uint64_t>(plan.shape.numel()) * size_of(plan.dtype);
}

/// The saved parts by name. Throws ValueError unless these are the names of `wanted`.
std::map<std::string, std::vector<CheckpointFile>> by_part(std::vector<CheckpointFile> files,
                                                           const std::vector<std::string>& wanted,
                                                           const FilePath& directory) {
  std::map<std::string, std::vector<CheckpointFile>> parts;
  for (CheckpointFile& file : files) parts[file.part].push_back(std::move(file));
  std::string complaint;
  for (const std::string& name : wanted) {
    if (!parts.contains(name)) complaint += fmt::format("; missing: {}", name);
  }
  for (const auto& [name, saved] : parts) {
    if (std::ranges::count(wanted, name) == 0) complaint += fmt::format("; unexpected: {}", name);
  }
  if (!complaint.empty()) throw ValueError(fmt::format("[checkpoint] {}{}", directory.text(), complaint));
  return parts;
}

NamedTensors tensors_of(const std::vector<CheckpointFile>& files) {
  NamedTensors all;
  for (const CheckpointFile& file : files)
    all.insert(all.end(), file.content.tensors.begin(), file.content.tensors.end());
  return all;
}

void write_state(CheckpointWriter& writer, const std::string& name, const NamedTensors& state) {
  for (const std::size_t index : writer.begin_file(name, detail::plans_of(state))) {
    const Tensor tensor = state[index].second.to(Device::cpu()).contiguous();
    writer.write({tensor.bytes(), tensor.nbytes()});
  }
  writer.end_file();
}

Tensor scalar(std::int64_t number) { return from_values<std::int64_t>({number}, {}); }

}  // namespace

struct Checkpoint::Part {
  std::string name;
  std::variant<LocalPart, detail::OptimizerPart, detail::RemotePart> state;
};

/// The state of all parts at one moment, by their names.
struct Checkpoint::Moment {
  std::map<std::string, std::vector<RRef<detail::StateSnapshot>>> snapshots;
  std::map<std::string, NamedTensors> states;
};

Checkpoint::Checkpoint(CheckpointOptions options) : options_(std::move(options)) {}

Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(const Checkpoint&) = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(const Checkpoint&) = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

Checkpoint& Checkpoint::add(std::string name, nn::Module& module) {
  return add_local(std::move(name), {[&module] { return detail::full_state(module); },
                                     [&module](const Scope& scope, const NamedTensors& state) {
                                       detail::load_at_owner(scope, module, state);
                                     }});
}

Checkpoint& Checkpoint::add(std::string name, Generator& generator) {
  return add_local(std::move(name),
                   {[&generator] {
                      return NamedTensors{{"generator", state_of(generator)}};
                    },
                    [&generator](const Scope& /*scope*/, const NamedTensors& state) {
                      detail::check_plans("checkpoint", {{"generator", DType::i64, {3}}}, detail::plans_of(state));
                      generator = generator_of(state.front().second);
                    }});
}

Checkpoint& Checkpoint::add(std::string name, std::int64_t& count) {
  return add_local(std::move(name),
                   {[&count] {
                      return NamedTensors{{"count", scalar(count)}};
                    },
                    [&count](const Scope& /*scope*/, const NamedTensors& state) {
                      detail::check_plans("checkpoint", {{"count", DType::i64, {}}}, detail::plans_of(state));
                      count = state.front().second.item<std::int64_t>();
                    }});
}

Checkpoint& Checkpoint::add(std::string name, const DistOptimizer& optimizer,
                            const std::vector<TableOfOptimizer>& tables) {
  return add_part({std::move(name), detail::part_of(optimizer, tables)});
}

Checkpoint& Checkpoint::add(std::string name, const DistOptimizer& optimizer) {
  return add(std::move(name), optimizer, {});
}

Checkpoint& Checkpoint::add_local(std::string name, LocalPart part) {
  return add_part({std::move(name), std::move(part)});
}
Checkpoint& Checkpoint::add_remote(std::string name, detail::RemotePart part) {
  return add_part({std::move(name), std::move(part)});
}
Checkpoint& Checkpoint::add_part(Part part) {
  if (part.name.empty()) throw std::invalid_argument("[checkpoint] a part without a name");
  if (std::ranges::count(parts_, part.name, &Part::name) > 0)
    throw std::invalid_argument(fmt::format("[checkpoint] part given twice: {}", part.name));
  parts_.push_back(std::move(part));
  return *this;
}

Checkpoint::Moment Checkpoint::take_snapshots(const Scope& scope) const {
  for (int attempt = 0; attempt < kSnapshotsMax; ++attempt) {
    Moment moment;
    std::vector<Future<void>> made;
    for (const Part& part : parts_) {
      if (const auto* remote = std::get_if<detail::RemotePart>(&part.state))
        moment.snapshots[part.name] = remote->snapshots(scope);
      if (const auto* optimizer = std::get_if<detail::OptimizerPart>(&part.state))
        moment.snapshots[part.name] = optimizer->snapshots(scope);
    }
    for (const auto& [name, of_part] : moment.snapshots) {
      for (const auto& snapshot : of_part) made.push_back(snapshot.created(scope));
    }
    if (!made.empty()) wait_all(made);
    bool is_settled = true;
    for (const Part& part : parts_) {
      const auto* optimizer = std::get_if<detail::OptimizerPart>(&part.state);
      is_settled = is_settled && (optimizer == nullptr || optimizer->is_settled());
      if (const auto* local = std::get_if<LocalPart>(&part.state)) moment.states[part.name] = local->state();
    }
    if (!is_settled) continue;
    // Every owner is asked after every state was read: what has not changed by then was there at once between.
    std::vector<Future<bool>> current;
    for (const auto& [name, of_part] : moment.snapshots) {
      for (const auto& snapshot : of_part) current.push_back(snapshot.rpc_async(scope, &StateSnapshot::is_current));
    }
    if (current.empty()) return moment;
    const auto answers = wait_all(current);
    if (std::ranges::all_of(answers, [](bool is_current) { return is_current; })) return moment;
  }
  throw RemoteError(scope.state().node->error(
      ErrorCode::timeout, scope.node_name(), "save",
      fmt::format("parameters changed during each of {} snapshots: save between steps", kSnapshotsMax)));
}

void Checkpoint::write_snapshot(const Scope& scope, CheckpointWriter& writer, const Part& part,
                                const RRef<StateSnapshot>& snapshot) const {
  std::vector<TensorPlan> plans = snapshot.rpc_sync(scope, &StateSnapshot::plans);
  if (const auto* optimizer = std::get_if<detail::OptimizerPart>(&part.state)) {
    for (TensorPlan& plan : plans) plan.name = optimizer->name_in_checkpoint(plan.name);
  }
  const auto order = writer.begin_file(part.name, plans, snapshot.rpc_sync(scope, &StateSnapshot::notes));
  struct Wanted {
    Future<Tensor> chunk;
    std::uint64_t bytes;
  };
  std::deque<Wanted> wanted;
  const auto write_first = [&] {
    const Tensor chunk = wanted.front().chunk.get();
    if (chunk.dtype() != DType::u8 || chunk.nbytes() != wanted.front().bytes || !chunk.is_contiguous()) {
      throw RemoteError(scope.state().node->error(ErrorCode::protocol_violation, snapshot.owner(), "save",
                                                  "a chunk has another size than was asked for"));
    }
    const Tensor here = chunk.to(Device::cpu());  // a device map may bring what the owner has on its CPU to a GPU
    writer.write({here.bytes(), here.nbytes()});
    wanted.pop_front();
  };
  for (const std::size_t index : order) {
    for (Chunks chunks{bytes_of(plans[index]), std::max<std::size_t>(options_.chunk_bytes, 1)}; !chunks.done();) {
      const auto [first, count] = chunks.take();
      if (wanted.size() == kChunksAhead) write_first();
      wanted.push_back({snapshot.rpc_async(scope, &StateSnapshot::read, std::uint64_t{index}, first, count), count});
    }
  }
  while (!wanted.empty()) write_first();
  writer.end_file();
}

void Checkpoint::save(const Scope& scope, const FilePath& directory) const {
  const Scope outside = detail::without_context(scope);
  const Moment moment = take_snapshots(outside);
  CheckpointWriter writer(options_.files, directory);
  for (const Part& part : parts_) {
    if (const auto state = moment.states.find(part.name); state != moment.states.end()) {
      write_state(writer, part.name, state->second);
    } else {
      for (const auto& snapshot : moment.snapshots.at(part.name)) write_snapshot(outside, writer, part, snapshot);
    }
  }
  writer.commit();
}

void Checkpoint::send(const Scope& scope, const detail::Staging& staging) const {
  std::deque<Future<void>> sent;
  for (std::size_t i = 0; i < staging.tensors.size(); ++i) {
    const detail::TensorSource& source = staging.tensors[i];
    const std::uint64_t units =
        std::max<std::uint64_t>(options_.chunk_bytes / std::max<std::uint64_t>(source.unit, 1), 1);
    for (Chunks chunks{source.bytes, units * source.unit}; !chunks.done();) {
      const auto [first, count] = chunks.take();
      if (sent.size() == kChunksAhead) {
        sent.front().get();
        sent.pop_front();
      }
      sent.push_back(
          staging.target.rpc_async(scope, &StagedState::write, std::uint64_t{i}, first, source.read(first, count)));
    }
  }
  for (const Future<void>& chunk : sent) chunk.get();
}

void Checkpoint::restore(const Scope& scope, const FilePath& directory) const {
  const Scope outside = detail::without_context(scope);
  std::vector<std::string> names;
  for (const Part& part : parts_) names.push_back(part.name);
  const auto saved = by_part(read_checkpoint(directory), names, directory);

  std::vector<detail::Staging> stagings;
  std::vector<Future<void>> accepted;
  for (const Part& part : parts_) {
    if (const auto* remote = std::get_if<detail::RemotePart>(&part.state)) {
      for (detail::Staging& staging : remote->stage(outside, saved.at(part.name))) {
        accepted.push_back(staging.target.created(outside));
        stagings.push_back(std::move(staging));
      }
    }
  }
  if (!accepted.empty()) wait_all(accepted);
  for (const detail::Staging& staging : stagings) send(outside, staging);

  std::map<std::string, detail::PreparedLoad> prepared;  // given up unless they are committed
  for (const Part& part : parts_) {
    if (const auto* optimizer = std::get_if<detail::OptimizerPart>(&part.state))
      prepared.emplace(part.name, optimizer->prepare(outside, tensors_of(saved.at(part.name))));
  }
  // Every owner has accepted everything. What this node refuses, it refuses before any of them takes it.
  for (const Part& part : parts_) {
    if (const auto load = prepared.find(part.name); load != prepared.end()) load->second.take_rates();
    if (const auto* local = std::get_if<LocalPart>(&part.state)) local->load(outside, tensors_of(saved.at(part.name)));
  }
  // From here on nothing is taken back: a limit of time would leave a mixture of two states.
  const Scope decided = detail::lasting_scope(outside).with({.deadline = Deadline::while_peer_lives()});
  for (auto& [name, load] : prepared) load.commit(*decided.state().node, std::nullopt);
  std::vector<Future<void>> loaded;
  for (const detail::Staging& staging : stagings)
    loaded.push_back(staging.target.rpc_async(decided, &StagedState::load));
  for (const Future<void>& one : loaded) one.state().wait();
  for (const Future<void>& one : loaded) one.get();
}

}  // namespace troupe
