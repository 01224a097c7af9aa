#include "actors/parallel/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"
#include "tensor/print.h"

namespace troupe::detail {
namespace {

std::vector<Variable> values_of(const nn::NamedVariables& named) {
  std::vector<Variable> all;
  for (const auto& [name, variable] : named) all.push_back(variable);
  return all;
}

/// Returns one line for each variable: "fc.weight f32 (10, 4)".
std::vector<std::string> lines_of(const nn::NamedVariables& parameters, const nn::NamedVariables& buffers) {
  std::vector<std::string> lines;
  const auto add = [&](const char* kind, const nn::NamedVariables& named) {
    for (const auto& [name, variable] : named) {
      lines.push_back(fmt::format("{} {} {} {}", kind, name, name_of(variable.dtype()), to_string(variable.shape())));
    }
  };
  add("parameter", parameters);
  add("buffer", buffers);
  return lines;
}

/// Returns the text of each member, by rank.
std::vector<std::string> gather_texts(Collective& members, const Scope& scope, const std::string& own) {
  std::vector<std::int64_t> sizes;
  for (const Tensor& size : members.all_gather(scope, full({1}, static_cast<double>(own.size()), DType::i64))) {
    sizes.push_back(size.item<std::int64_t>());
  }
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

void Rounds::begin() {
  std::string own;
  for (const std::string& line : lines_of(parameters_, buffers_)) own += line + "\n";
  const std::vector<std::string> texts = gather_texts(*members_, scope_, own);
  const std::vector<std::string> first = split_lines(texts[0]);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    const std::vector<std::string> other = split_lines(texts[rank]);
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      const std::string here = i < first.size() ? first[i] : "nothing more";
      const std::string there = i < other.size() ? other[i] : "nothing more";
      if (here != there) {
        throw std::invalid_argument(fmt::format("[DataParallel] members have different modules: {} has {}, {} has {}",
                                                names()[0], here, names()[rank], there));
      }
    }
  }
  broadcast_all(0);
}

RoundOutcome Rounds::run(MemberGradients& own, Presence presence) {
  RoundOutcome round;
  round.active = active_members(presence);
  if (round.active.empty()) return round;
  leader_ = round.active.front();
  if (!plan_) plan_ = agree_on_plan(own);
  const std::size_t divisor = options_.divisor == Divisor::members ? names().size() : round.active.size();
  const double scale = 1.0 / static_cast<double>(divisor);
  round.gradients.resize(parameters_.size());
  for (const Bucket& bucket : plan_->buckets) sum_bucket(bucket, own, scale, round);
  for (const std::size_t number : plan_->rows) {
    own.wait_for(number);
    round.gradients[number].rows = sum_rows(number, own.of(number), scale);
  }
  own.wait_for_end();
  agree_on_end(own, round);
  if (round.failed.empty() && options_.broadcast_buffers && !buffers_.empty()) {
    broadcast(values_of(buffers_), leader_);
  }
  return round;
}

std::vector<std::size_t> Rounds::active_members(Presence presence) {
  Tensor flags = zeros({static_cast<std::int64_t>(names().size())});
  if (presence == Presence::active) flags.select(0, static_cast<std::int64_t>(members_->rank())).fill(1.0);
  const Tensor all = members_->all_reduce(scope_, flags);
  std::vector<std::size_t> active;
  for (std::size_t rank = 0; rank < names().size(); ++rank) {
    if (all.data<float>()[rank] > 0) active.push_back(rank);
  }
  return active;
}

BucketPlan Rounds::agree_on_plan(MemberGradients& own) {
  own.wait_for_end();
  const std::size_t count = parameters_.size();
  // Gradients are exchanged as rows if those of all members are. The last parameters are expected first: so it is in
  // most modules, for parameters that the leader's pass has not reached.
  Tensor kinds = zeros({2, static_cast<std::int64_t>(count)});
  Tensor order = zeros({static_cast<std::int64_t>(count)}, DType::i64);
  std::vector<std::size_t> arrival = own.order();
  for (std::size_t i = 0; i < count; ++i) {
    const LeafGradient gradient = own.of(i);
    const std::int64_t kind = gradient.rows.defined() && gradient.rows.sparse_dim() == 1 ? 1 : 0;
    if (gradient.defined()) kinds.select(0, kind).select(0, static_cast<std::int64_t>(i)).fill(1.0);
    const std::size_t last = count - 1 - i;
    if (std::ranges::find(arrival, last) == arrival.end()) arrival.push_back(last);
  }
  for (std::size_t i = 0; i < count; ++i) order.mutable_data<std::int64_t>()[i] = static_cast<std::int64_t>(arrival[i]);
  const Tensor all_kinds = members_->all_reduce(scope_, kinds);
  const Tensor leaders = members_->broadcast(scope_, names()[leader_], order);
  std::vector<ParameterSize> sizes;
  std::vector<std::size_t> agreed;
  for (std::size_t i = 0; i < count; ++i) {
    const bool dense = all_kinds.data<float>()[i] > 0;
    const bool rows = all_kinds.data<float>()[count + i] > 0;
    const Variable& parameter = parameters_[i].second;
    sizes.push_back({parameter.dtype(), parameter.numel(), rows && !dense});
    agreed.push_back(static_cast<std::size_t>(leaders.data<std::int64_t>()[i]));
  }
  return plan_buckets(sizes, agreed, options_.first_bucket_bytes, options_.bucket_bytes);
}

void Rounds::sum_bucket(const Bucket& bucket, MemberGradients& own, double scale, RoundOutcome& round) {
  Tensor flat = zeros({bucket.numel}, bucket.dtype);
  std::int64_t begin = 0;
  for (const std::size_t number : bucket.parameters) {
    own.wait_for(number);
    const LeafGradient gradient = own.of(number);
    const Variable& parameter = parameters_[number].second;
    if (gradient.defined()) {
      const Tensor dense = gradient.rows.defined() ? gradient.rows.to_dense() : gradient.dense;
      flat.slice(0, begin, begin + parameter.numel()).view(parameter.shape()).copy_from(dense.to(Device::cpu()));
    }
    begin += parameter.numel();
  }
  const Tensor mean = members_->all_reduce(scope_, flat) * scale;
  begin = 0;
  for (const std::size_t number : bucket.parameters) {
    const Variable& parameter = parameters_[number].second;
    const Tensor part = mean.slice(0, begin, begin + parameter.numel()).view(parameter.shape());
    round.gradients[number].dense = part.to(parameter.device());
    begin += parameter.numel();
  }
}

SparseTensor Rounds::sum_rows(std::size_t number, const LeafGradient& own, double scale) {
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
  const std::vector<Tensor> counts =
      members_->all_gather(scope_, full({1}, static_cast<double>(rows.count()), DType::i64));
  std::int64_t most = 0;
  for (const Tensor& count : counts) most = std::max(most, count.item<std::int64_t>());
  if (most == 0) return {};
  const SparseTensor sent = padded(rows, most);
  const std::vector<Tensor> indices = members_->all_gather(scope_, sent.indices());
  const std::vector<Tensor> values = members_->all_gather(scope_, sent.values());
  std::vector<Tensor> all_indices;
  std::vector<Tensor> all_values;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto count = counts[rank].item<std::int64_t>();
    all_indices.push_back(indices[rank].slice(1, 0, count));
    all_values.push_back(values[rank].slice(0, 0, count));
  }
  const Device home = parameter.device();
  return SparseTensor(concat(all_indices, 1).to(home), (concat(all_values, 0) * scale).to(home), shape).coalesce();
}

void Rounds::agree_on_end(const MemberGradients& own, RoundOutcome& round) {
  const std::size_t count = parameters_.size();
  Tensor flags = zeros({static_cast<std::int64_t>(names().size() + count)});
  const std::span<float> mine = flags.mutable_data<float>();
  if (own.has_failed()) mine[members_->rank()] = 1;
  for (std::size_t i = 0; i < count; ++i) mine[names().size() + i] = own.of(i).defined() ? 1 : 0;
  const Tensor all = members_->all_reduce(scope_, flags);
  for (std::size_t rank = 0; rank < names().size(); ++rank) {
    if (all.data<float>()[rank] > 0) round.failed.push_back(names()[rank]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (all.data<float>()[names().size() + i] == 0) round.gradients[i] = {};
  }
}

void Rounds::broadcast_all(std::size_t rank) {
  broadcast(values_of(parameters_), rank);
  broadcast(values_of(buffers_), rank);
}

void Rounds::broadcast(const std::vector<Variable>& variables, std::size_t rank) {
  std::vector<ParameterSize> sizes;
  std::vector<std::size_t> order;
  for (const Variable& variable : variables) {
    order.push_back(sizes.size());
    sizes.push_back({variable.dtype(), variable.numel(), false});
  }
  for (const Bucket& bucket : plan_buckets(sizes, order, options_.bucket_bytes, options_.bucket_bytes).buckets) {
    Tensor flat = zeros({bucket.numel}, bucket.dtype);
    std::int64_t begin = 0;
    for (const std::size_t number : bucket.parameters) {
      const Tensor value = variables[number].value();
      flat.slice(0, begin, begin + value.numel()).view(value.shape()).copy_from(value.to(Device::cpu()));
      begin += value.numel();
    }
    const Tensor received = members_->broadcast(scope_, names()[rank], flat);
    if (rank == members_->rank()) continue;
    begin = 0;
    for (const std::size_t number : bucket.parameters) {
      const Variable& variable = variables[number];
      const std::int64_t end = begin + variable.numel();
      // In memory of its own: a value is not kept alive by the others of its bucket.
      variable.set_value(received.slice(0, begin, end).view(variable.shape()).clone().to(variable.device()));
      begin = end;
    }
  }
}

}  // namespace troupe::detail
