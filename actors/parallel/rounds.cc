#include "actors/parallel/rounds.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "actors/references/copied_variables.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"
#include "tensor/print.h"

namespace troupe::detail {
namespace {

/// A sum of so many bytes takes no longer than its messages do.
constexpr std::size_t kBytesAtEnd = 32 << 10;
/// Bytes of the text that tells why a pass failed; the rest is cut off.
constexpr std::int64_t kCauseMax = 1'000;
/// Bytes of the lines that tell a member's options, parameters and buffers, for more than 100,000 of them.
constexpr std::int64_t kLinesMax = std::int64_t{16} << 20;

std::vector<Variable> values_of(const nn::NamedVariables& named) {
  std::vector<Variable> all;
  for (const auto& [name, variable] : named) all.push_back(variable);
  return all;
}

/// Returns the line of the options: "bucket_bytes 26214400, first_bucket_bytes 1048576, broadcast_buffers true, ...".
std::string line_of(const DataParallelOptions& options) {
  return fmt::format("bucket_bytes {}, first_bucket_bytes {}, broadcast_buffers {}, divisor {}", options.bucket_bytes,
                     options.first_bucket_bytes, options.broadcast_buffers,
                     options.divisor == Divisor::members ? "members" : "active");
}

/// Returns the line of the options, then one for each variable: "parameter fc.weight f32 (10, 4)".
std::vector<std::string> lines_of(const DataParallelOptions& options, const nn::NamedVariables& parameters,
                                  const nn::NamedVariables& buffers) {
  std::vector<std::string> lines{line_of(options)};
  const auto add = [&](const char* kind, const nn::NamedVariables& named) {
    for (const auto& [name, variable] : named) {
      lines.push_back(fmt::format("{} {} {} {}", kind, name, name_of(variable.dtype()), to_string(variable.shape())));
    }
  };
  add("parameter", parameters);
  add("buffer", buffers);
  return lines;
}

/// Returns how many `what` each member has, by rank. Memory is taken for them next: throws std::invalid_argument that
/// names a member with less than none or more than `most`.
std::vector<std::int64_t> gather_counts(Collective& members, const Scope& scope, std::int64_t own, std::int64_t most,
                                        const char* what) {
  std::vector<std::int64_t> counts;
  for (const Tensor& count : members.all_gather(scope, from_values<std::int64_t>({own}))) {
    counts.push_back(count.item<std::int64_t>());
    if (counts.back() < 0 || counts.back() > most) {
      throw std::invalid_argument(fmt::format("[DataParallel] {} announces {} {}, at most {} are possible",
                                              members.names()[counts.size() - 1], counts.back(), what, most));
    }
  }
  return counts;
}

/// Returns the text of each member, by rank. REQUIRES: none has more than `most` bytes; throws as gather_counts.
std::vector<std::string> gather_texts(Collective& members, const Scope& scope, const std::string& own,
                                      std::int64_t most) {
  const std::vector<std::int64_t> sizes = gather_counts(members, scope, std::ssize(own), most, "bytes of text");
  Tensor padded = zeros({*std::ranges::max_element(sizes)}, DType::u8);
  std::memcpy(padded.mutable_bytes(), own.data(), own.size());
  std::vector<std::string> texts;
  for (const Tensor& bytes : members.all_gather(scope, padded)) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.bytes()), static_cast<std::size_t>(sizes[texts.size()]));
  }
  return texts;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Returns whether all members have the same `own`. Only hashes travel: each member would get the lines of all others.
bool have_equal(Collective& members, const Scope& scope, const std::string& own) {
  const XXH128_hash_t hash = XXH3_128bits(own.data(), own.size());
  Tensor mine = zeros({sizeof hash}, DType::u8);
  std::memcpy(mine.mutable_bytes(), &hash, sizeof hash);
  const std::vector<Tensor> hashes = members.all_gather(scope, mine);
  return std::ranges::all_of(hashes, [&](const Tensor& its) { return same_bytes(its, mine); });
}

/// Throws std::invalid_argument that names the first difference between the lines of the first member and another's.
void require_equal_lines(const std::vector<NodeName>& names, const std::vector<std::string>& texts) {
  const std::vector<std::string> first = split_lines(texts[0]);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    const std::vector<std::string> other = split_lines(texts[rank]);
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const std::string here = i < first.size() ? first[i] : "nothing more";
      const std::string there = i < other.size() ? other[i] : "nothing more";
      if (here != there) {
        throw std::invalid_argument(fmt::format("[DataParallel] members have different {}: {} has {}, {} has {}",
                                                i == 0 ? "options" : "modules", names[0], here, names[rank], there));
      }
    }
  }
}

GradientKind kind_of(const LeafGradient& gradient) {
  if (!gradient.defined()) return GradientKind::unknown;
  return gradient.rows.defined() && gradient.rows.sparse_dim() == 1 ? GradientKind::rows : GradientKind::dense;
}

/// Returns how a gradient is exchanged that some member has if `used`, and not as rows if `dense`.
GradientKind agreed_kind(bool used, bool dense) {
  if (!used) return GradientKind::unknown;
  return dense ? GradientKind::dense : GradientKind::rows;
}

/// Returns the mean of the rows of all members, for `parameter`. Rows are scaled first and summed in the order of
/// ranks.
SparseTensor mean_of(MemberRows rows, double scale, const Variable& parameter) {
  const Device home = parameter.device();
  const DType dtype = parameter.dtype();
  // A mean of 16-bit rows is rounded once, as that of a bucket.
  Tensor values = std::exchange(rows.values, {}).to(compute_dtype(dtype));
  const auto mean =
      SparseTensor(rows.indices.to(home), (std::move(values) * scale).to(home), parameter.shape()).coalesce();
  if (mean.dtype() == dtype) return mean;
  return SparseTensor(mean.indices(), mean.values().to(dtype), mean.shape()).as_coalesced();
}

/// Returns `rows` with `count` parts: the missing ones are zeros at place 0.
SparseTensor padded(const SparseTensor& rows, std::int64_t count) {
  const std::int64_t missing = count - rows.count();
  if (missing == 0) return rows;
  Shape more = rows.values().shape();
  more[0] = missing;
  return SparseTensor(concat({rows.indices(), zeros({rows.sparse_dim(), missing}, DType::i64)}, 1),
                      concat({rows.values(), zeros(more, rows.dtype())}, 0), rows.shape());
}

}  // namespace

Rounds::Rounds(Scope scope, std::shared_ptr<Collective> members, nn::NamedVariables parameters,
               nn::NamedVariables buffers, DataParallelOptions options)
    : scope_(std::move(scope)),
      members_(std::move(members)),
      parameters_(std::move(parameters)),
      buffers_(std::move(buffers)),
      options_(options) {}

void Rounds::begin(const Scope& scope) {
  std::string own;
  for (const std::string& line : lines_of(options_, parameters_, buffers_)) own += line + "\n";
  if (!have_equal(*members_, scope, own)) require_equal_lines(names(), gather_texts(*members_, scope, own, kLinesMax));
  broadcast_all(scope, 0);
}

RoundOutcome Rounds::run(MemberGradients& own, Presence presence) {
  RoundOutcome round;
  const bool is_planning = !plan_;
  if (is_planning) {
    round.active = active_members(presence);
    if (round.active.empty()) return round;
    leader_ = round.active.front();
    plan_ = agree_on_plan(own);
  }
  Exchanged exchanged = exchange(*plan_, own);
  own.wait_for_end();
  const RoundEnd end = agree_on_end(own, presence);
  round.active = end.active;
  if (round.active.empty()) return round;
  leader_ = round.active.front();
  for (const std::size_t rank : end.failed) round.failed.push_back(names()[rank]);
  if (!end.failed.empty()) {
    const std::string why = own.failure_text().substr(0, kCauseMax);
    round.cause = gather_texts(*members_, scope_, why, kCauseMax).at(end.failed.front());
    if (is_planning) plan_.reset();  // a failed pass does not tell which gradients are rows: all members know of it
    return round;
  }
  round.gradients.resize(parameters_.size());
  const std::size_t divisor = options_.divisor == Divisor::members ? names().size() : round.active.size();
  const double scale = 1.0 / static_cast<double>(divisor);
  settle(*plan_, std::move(exchanged), scale, round);
  if (plan_->at_end) distribute(*plan_->at_end, end.sum * scale, round);
  const BucketPlan first_used = plan_first_used(end);
  settle(first_used, exchange(first_used, own), scale, round);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!end.used[i]) round.gradients[i] = {};
  }
  if (options_.broadcast_buffers && !buffers_.empty()) broadcast(scope_, values_of(buffers_), leader_);
  return round;
}

std::vector<std::size_t> Rounds::active_members(Presence presence) {
  Tensor flags = zeros({static_cast<std::int64_t>(names().size())});
  if (presence == Presence::active) flags.select(0, static_cast<std::int64_t>(members_->rank())).fill(1.0);
  return marked_members(members_->all_reduce(scope_, flags));
}

std::vector<std::size_t> Rounds::marked_members(const Tensor& flags) const {
  std::vector<std::size_t> marked;
  for (std::size_t rank = 0; rank < names().size(); ++rank) {
    if (flags.data<float>()[rank] > 0) marked.push_back(rank);
  }
  return marked;
}

BucketPlan Rounds::agree_on_plan(MemberGradients& own) {
  own.wait_for_end();
  const std::size_t count = parameters_.size();
  // Gradients are exchanged as rows if those of all members are. The last parameters are expected first: so it is in
  // most modules, for parameters that the leader's pass has not reached.
  Tensor kinds = zeros({2, static_cast<std::int64_t>(count)});
  Tensor order = zeros({static_cast<std::int64_t>(count)}, DType::i64);
  std::vector<std::size_t> arrival = own.order();
  std::vector<bool> has_arrived(count);
  for (const std::size_t number : arrival) has_arrived[number] = true;
  for (std::size_t i = 0; i < count; ++i) {
    const GradientKind kind = kind_of(own.of(i));
    if (kind != GradientKind::unknown)
      kinds.select(0, kind == GradientKind::rows ? 1 : 0).select(0, static_cast<std::int64_t>(i)).fill(1.0);
    const std::size_t last = count - 1 - i;
    if (!has_arrived[last]) arrival.push_back(last);
  }
  for (std::size_t i = 0; i < count; ++i) order.mutable_data<std::int64_t>()[i] = static_cast<std::int64_t>(arrival[i]);
  const Tensor all_kinds = members_->all_reduce(scope_, kinds);
  const Tensor leaders = members_->broadcast(scope_, names()[leader_], order);
  std::vector<ParameterSize> sizes;
  std::vector<std::size_t> agreed;
  for (std::size_t i = 0; i < count; ++i) {
    const bool dense = all_kinds.data<float>()[i] > 0;
    const bool rows = all_kinds.data<float>()[count + i] > 0;
    sizes.push_back(size_of_gradient(i, agreed_kind(dense || rows, dense)));
    agreed.push_back(static_cast<std::size_t>(leaders.data<std::int64_t>()[i]));
  }
  return with_small_bucket_at_end(plan_buckets(sizes, agreed, options_.first_bucket_bytes, options_.bucket_bytes),
                                  kBytesAtEnd);
}

BucketPlan Rounds::plan_first_used(const RoundEnd& end) {
  std::vector<ParameterSize> sizes(parameters_.size());
  for (std::size_t i = 0; i < plan_->open.size(); ++i) {
    const std::size_t number = plan_->open[i];
    sizes[number] = size_of_gradient(number, agreed_kind(end.used[number], end.dense[i]));
  }
  return plan_more(*plan_, sizes, options_.bucket_bytes);
}

ParameterSize Rounds::size_of_gradient(std::size_t number, GradientKind kind) const {
  const Variable& parameter = parameters_[number].second;
  // A mean of 16-bit gradients is rounded once: their sum may be out of range.
  return {compute_dtype(parameter.dtype()), parameter.numel(), kind};
}

Exchanged Rounds::exchange(const BucketPlan& plan, MemberGradients& own) const {
  Exchanged exchanged;
  for (const Bucket& bucket : plan.buckets) {
    const Tensor flat = zeros({bucket.numel}, bucket.dtype);
    collect(bucket, own, flat);
    exchanged.sums.push_back(members_->all_reduce(scope_, flat));
  }
  for (const std::size_t number : plan.rows) {
    own.wait_for(number);
    exchanged.rows.push_back(gather_rows(number, own.of(number)));
  }
  return exchanged;
}

void Rounds::settle(const BucketPlan& plan, Exchanged exchanged, double scale, RoundOutcome& round) const {
  auto& [sums, rows] = exchanged;
  for (std::size_t i = 0; i < sums.size(); ++i) distribute(plan.buckets[i], std::move(sums[i]) * scale, round);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t number = plan.rows[i];
    if (!rows[i].indices.defined()) continue;
    round.gradients[number].rows = mean_of(std::move(rows[i]), scale, parameters_[number].second);
  }
}

void Rounds::collect(const Bucket& bucket, MemberGradients& own, const Tensor& flat) const {
  std::int64_t begin = 0;
  for (const std::size_t number : bucket.parameters) {
    own.wait_for(number);
    const LeafGradient gradient = own.of(number);
    const Variable& parameter = parameters_[number].second;
    if (gradient.defined()) {
      const Tensor dense = gradient.rows.defined() ? gradient.rows.to_dense() : gradient.dense;
      flat.slice(0, begin, begin + parameter.numel())
          .view(parameter.shape())
          .copy_from(dense.to(Device::cpu()).to(bucket.dtype));
    }
    begin += parameter.numel();
  }
}

void Rounds::distribute(const Bucket& bucket, const Tensor& mean, RoundOutcome& round) const {
  std::int64_t begin = 0;
  for (const std::size_t number : bucket.parameters) {
    const Variable& parameter = parameters_[number].second;
    const Tensor part = mean.slice(0, begin, begin + parameter.numel()).view(parameter.shape());
    round.gradients[number].dense = part.to(parameter.dtype()).to(parameter.device());
    begin += parameter.numel();
  }
}

MemberRows Rounds::gather_rows(std::size_t number, const LeafGradient& own) const {
  const Variable& parameter = parameters_[number].second;
  const Shape shape = parameter.shape();
  Shape part = shape;
  part[0] = 0;
  SparseTensor rows(zeros({1, 0}, DType::i64), zeros(part, parameter.dtype()), shape);
  if (own.rows.defined() && own.rows.sparse_dim() == 1) {
    rows = SparseTensor(own.rows.indices().to(Device::cpu()), own.rows.values().to(Device::cpu()), shape);
  } else if (own.defined()) {
    const Tensor dense = own.rows.defined() ? own.rows.to_dense() : own.dense;
    rows = SparseTensor::from_dense(dense.to(Device::cpu()), 1);
  }
  rows = rows.coalesce();  // each row once: so no member has more than the table
  const std::vector<std::int64_t> counts = gather_counts(*members_, scope_, rows.count(), shape[0], "rows of a table");
  const std::int64_t most = *std::ranges::max_element(counts);
  if (most == 0) return {};
  const SparseTensor sent = padded(rows, most);
  const std::vector<Tensor> indices = members_->all_gather(scope_, sent.indices());
  const std::vector<Tensor> values = members_->all_gather(scope_, sent.values());
  std::vector<Tensor> all_indices;
  std::vector<Tensor> all_values;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    all_indices.push_back(indices[rank].slice(1, 0, counts[rank]));
    all_values.push_back(values[rank].slice(0, 0, counts[rank]));
  }
  return {concat(all_indices, 1), concat(all_values, 0)};
}

RoundEnd Rounds::agree_on_end(MemberGradients& own, Presence presence) {
  const auto members = static_cast<std::int64_t>(names().size());
  const auto count = static_cast<std::int64_t>(parameters_.size());
  const std::int64_t used = 2 * members;
  const std::int64_t dense = used + count;
  const std::int64_t flags = dense + std::ssize(plan_->open);  // of presence, failure, use, and kind; then the bucket
  const Tensor mine = zeros({flags + (plan_->at_end ? plan_->at_end->numel : 0)});
  const auto mark = [&mine](std::int64_t place) { mine.select(0, place).fill(1.0); };
  const auto rank = static_cast<std::int64_t>(members_->rank());
  if (presence == Presence::active) mark(rank);
  if (own.tell_failure()) mark(members + rank);
  for (std::int64_t i = 0; i < count; ++i) {
    if (own.of(static_cast<std::size_t>(i)).defined()) mark(used + i);
  }
  for (std::int64_t i = 0; i < std::ssize(plan_->open); ++i) {
    if (kind_of(own.of(plan_->open[static_cast<std::size_t>(i)])) == GradientKind::dense) mark(dense + i);
  }
  if (plan_->at_end) collect(*plan_->at_end, own, mine.slice(0, flags, mine.numel()));
  const Tensor all = members_->all_reduce(scope_, mine);
  RoundEnd end{marked_members(all), marked_members(all.slice(0, members, 2 * members)), {}, {}, {}};
  for (std::int64_t i = used; i < dense; ++i) end.used.push_back(all.data<float>()[i] > 0);
  for (std::int64_t i = dense; i < flags; ++i) end.dense.push_back(all.data<float>()[i] > 0);
  if (plan_->at_end) end.sum = all.slice(0, flags, all.numel());
  return end;
}

void Rounds::broadcast_all(const Scope& scope, std::size_t rank) {
  broadcast(scope, values_of(parameters_), rank);
  broadcast(scope, values_of(buffers_), rank);
}

void Rounds::broadcast(const Scope& scope, const std::vector<Variable>& variables, std::size_t rank) {
  std::vector<ParameterSize> sizes;
  std::vector<std::size_t> order;
  for (const Variable& variable : variables) {
    order.push_back(sizes.size());
    sizes.push_back({variable.dtype(), variable.numel()});
  }
  for (const Bucket& bucket : plan_buckets(sizes, order, options_.bucket_bytes, options_.bucket_bytes).buckets) {
    Tensor flat = zeros({bucket.numel}, bucket.dtype);
    std::int64_t begin = 0;
    for (const std::size_t number : bucket.parameters) {
      const Tensor value = variables[number].value();
      flat.slice(0, begin, begin + value.numel()).view(value.shape()).copy_from(value.to(Device::cpu()));
      begin += value.numel();
    }
    const Tensor received = members_->broadcast(scope, names()[rank], flat);
    if (rank == members_->rank()) continue;
    begin = 0;
    std::vector<Variable> changed;
    for (const std::size_t number : bucket.parameters) {
      const Variable& variable = changed.emplace_back(variables[number]);
      const std::int64_t end = begin + variable.numel();
      // In memory of its own: a value is not kept alive by the others of its bucket.
      variable.set_value(received.slice(0, begin, end).view(variable.shape()).clone().to(variable.device()));
      begin = end;
    }
    announce_changes(scope.state(), changed);
  }
}

}  // namespace troupe::detail
