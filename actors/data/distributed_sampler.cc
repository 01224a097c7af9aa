#include "actors/data/distributed_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/generator.h"

namespace troupe {
namespace {

constexpr const char* kEpoch = "epoch";
constexpr const char* kGivenOut = "given_out";
constexpr const char* kExamples = "examples";
constexpr const char* kSeed = "seed";
constexpr const char* kShuffle = "shuffle";

Tensor scalar(std::int64_t number) { return from_values<std::int64_t>({number}, {}); }

std::int64_t number_of(Shuffle shuffle) { return shuffle == Shuffle::yes ? 1 : 0; }

std::int64_t number_in(const std::map<std::string, Tensor>& state, const char* name) {
  const auto found = state.find(name);
  if (found == state.end()) throw ValueError(fmt::format("[load_state_dict] missing: {}", name));
  const Tensor& tensor = found->second;
  if (!tensor.defined() || tensor.dtype() != DType::i64 || tensor.dim() != 0)
    throw ValueError(fmt::format("[load_state_dict] {} is not a number", name));
  return tensor.item<std::int64_t>();
}

}  // namespace

DistributedSampler::DistributedSampler(const SamplerOptions& options) : options_(options) {
  if (options.examples < 0) throw ValueError(fmt::format("[DistributedSampler] {} examples", options.examples));
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks)
    throw ValueError(fmt::format("[DistributedSampler] rank {} of {}", options.rank, options.ranks));
  begin(0, 0);
}

void DistributedSampler::set_epoch(std::int64_t epoch) {
  if (epoch < 0) throw ValueError(fmt::format("[DistributedSampler] epoch {}", epoch));
  begin(epoch, 0);
}

void DistributedSampler::begin(std::int64_t epoch, std::int64_t given_out) {
  Generator generator(options_.seed, static_cast<std::uint64_t>(epoch));
  order_ = options_.shuffle == Shuffle::yes ? permutation(options_.examples, generator) : arange(options_.examples);
  epoch_ = epoch;
  given_out_ = given_out;
  taken_ = 0;
  const std::int64_t left = std::max<std::int64_t>(options_.examples - given_out, 0);
  const std::int64_t whole = left / options_.ranks;
  const bool pads = options_.remainder == Remainder::pad && left % options_.ranks != 0;
  of_rank_ = pads ? whole + 1 : whole;
}

Tensor DistributedSampler::next(std::int64_t count) {
  if (count < 0) throw ValueError(fmt::format("[DistributedSampler] {} examples", count));
  Tensor examples = Tensor::empty({std::min(count, remaining())}, DType::i64);
  const auto order = order_.data<std::int64_t>();
  for (std::int64_t& example : examples.mutable_data<std::int64_t>()) {
    const std::int64_t place = given_out_ + options_.rank + taken_++ * options_.ranks;
    example = order[static_cast<std::size_t>(place % options_.examples)];  // beyond the end: from the beginning
  }
  return examples;
}

NamedTensors DistributedSampler::state_dict() const {
  return {{kEpoch, scalar(epoch_)},
          {kGivenOut, scalar(given_out_ + taken_ * options_.ranks)},
          {kExamples, scalar(options_.examples)},
          {kSeed, scalar(std::bit_cast<std::int64_t>(options_.seed))},
          {kShuffle, scalar(number_of(options_.shuffle))}};
}

void DistributedSampler::load_state_dict(const NamedTensors& state) {
  const std::map<std::string, Tensor> by_name(state.begin(), state.end());
  const std::int64_t epoch = number_in(by_name, kEpoch);
  const std::int64_t given_out = number_in(by_name, kGivenOut);
  const auto require_same = [&](const char* name, std::int64_t own) {
    if (const std::int64_t saved = number_in(by_name, name); saved != own)
      throw ValueError(fmt::format("[load_state_dict] {} is {}, not {}", name, saved, own));
  };
  require_same(kExamples, options_.examples);
  require_same(kSeed, std::bit_cast<std::int64_t>(options_.seed));
  const bool has_shuffle = by_name.contains(kShuffle);  // states that were saved earlier lack it
  if (has_shuffle) require_same(kShuffle, number_of(options_.shuffle));
  if (epoch < 0 || given_out < 0)
    throw ValueError(fmt::format("[load_state_dict] epoch {}, {} examples given out", epoch, given_out));
  if (by_name.size() != (has_shuffle ? 5 : 4)) throw ValueError("[load_state_dict] the state of something else");
  begin(epoch, given_out);
}

}  // namespace troupe
