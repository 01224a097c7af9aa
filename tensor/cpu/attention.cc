#include "tensor/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/lanes.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vector_math.h"

namespace troupe::cpu {
namespace {

/// The scores of one block: so many stay in a core's second cache, and make products large enough.
constexpr std::int64_t kScoreElements = 1 << 16;

std::int64_t rows_of_block(std::int64_t keys) { return std::clamp<std::int64_t>(kScoreElements / keys, 16, 256); }

/// The matrices of a tensor (..., rows, cols), by their number.
template <class T>
class Matrices {
 public:
  Matrices(const Tensor& x, T* data) : data_(data), shape_(x.shape()), strides_(x.strides()) {}

  MatrixRef<T> operator[](std::int64_t number) const {
    const int rows = shape_.size() - 2;
    T* first = data_;
    for (int d = rows - 1; d >= 0; --d) {
      first += number % shape_[d] * strides_[d];
      number /= shape_[d];
    }
    return {first, shape_[rows], shape_[rows + 1], strides_[rows], strides_[rows + 1]};
  }

 private:
  T* data_;
  Shape shape_;
  Strides strides_;
};

template <class T>
Matrices<const T> matrices(const Tensor& x) {
  return {x, elements<T>(x)};
}

template <class T>
MatrixRef<T> transposed(const MatrixRef<T>& m) {
  return {m.data, m.cols, m.rows, m.col_stride, m.row_stride};
}

template <class T>
MatrixRef<T> rows_from(const MatrixRef<T>& m, std::int64_t first, std::int64_t count) {
  return {m.data + first * m.row_stride, count, m.cols, m.row_stride, m.col_stride};
}

template <class T>
MatrixRef<const T> to_read(const MatrixRef<T>& m) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
}

/// A block of queries of one matrix with the keys that any of them sees.
struct Block {
  std::int64_t matrix;
  std::int64_t first;  ///< query
  std::int64_t rows;
  std::int64_t keys;
};

/// The scores of a block; rows without gaps.
template <class T>
class ScoreBlock {
 public:
  ScoreBlock(const AttentionScores& scores, const Tensor& query, const Tensor& key)
      : scores_(scores), queries_(query.size(-2)), keys_(key.size(-2)) {
    if (!scores.mask.defined()) return;
    if (scores.mask.dtype() == DType::boolean)
      shown_.emplace(matrices<bool>(scores.mask));
    else
      added_.emplace(matrices<T>(scores.mask));
  }

  [[nodiscard]] Block block(std::int64_t matrix, std::int64_t first, std::int64_t rows) const {
    const std::int64_t count = std::min(rows, queries_ - first);
    return {matrix, first, count, scores_.causal ? std::min(keys_, first + count) : keys_};
  }

  /// How many keys query `row` of the block sees: the first ones.
  [[nodiscard]] std::int64_t seen(const Block& b, std::int64_t row) const {
    return scores_.causal ? std::min(b.keys, b.first + row + 1) : b.keys;
  }

  /// Turns products into scores, as far as they are seen.
  void finish(T* x, const Block& b, std::int64_t row) const {
    const std::int64_t count = seen(b, row);
    const T scale = static_cast<T>(scores_.scale);
    if (shown_) {
      const bool* const shown = rows_from((*shown_)[b.matrix], b.first + row, 1).data;
      vectorized_for(count,
                     [=](std::int64_t i) { x[i] = shown[i] ? x[i] * scale : -std::numeric_limits<T>::infinity(); });
    } else if (added_) {
      const T* const added = rows_from((*added_)[b.matrix], b.first + row, 1).data;
      vectorized_for(count, [=](std::int64_t i) { x[i] = x[i] * scale + added[i]; });
    } else {
      vectorized_for(count, [=](std::int64_t i) { x[i] *= scale; });
    }
  }

  /// Leaves some of the weights out.
  void drop(T* x, const Block& b, std::int64_t row) const {
    if (!scores_.dropout) return;
    const WeightDropout& dropout = *scores_.dropout;
    const auto first = static_cast<std::uint64_t>((b.matrix * queries_ + b.first + row) * keys_);
    const std::uint64_t end = first + static_cast<std::uint64_t>(seen(b, row));
    const T kept = static_cast<T>(dropout.kept);
    Generator generator = dropout.start;
    generator.skip(first / 4);
    for (std::uint64_t word = first; word < end;) {
      const auto words = generator.next_block();
      do {
        T& weight = x[word - first];
        weight = words[word % 4] < dropout.limit ? T{0} : weight * kept;
      } while (++word % 4 != 0 && word < end);
    }
  }

 private:
  const AttentionScores& scores_;
  std::int64_t queries_;
  std::int64_t keys_;
  std::optional<Matrices<const bool>> shown_;
  std::optional<Matrices<const T>> added_;
};

/// Turns scores into exp(score - the largest). Returns the sum of these; `top` becomes the largest.
template <class T>
double exponentials(T* x, std::int64_t count, T& top) {
  top = largest(x, count);
  vectorized_for(count, [x, largest = top](std::int64_t i) { x[i] -= largest; });
  real_functions<T>().exp(x, x, count);
  return sum_of(count, [x](std::int64_t i) { return x[i]; });
}

/// The output of a block of queries. `x` has room for its scores.
template <class T>
void attend(const ScoreBlock<T>& scores, const Block& b, T* x, const MatrixRef<T>& out, T* logsumexp,
            const MatrixRef<const T>& query, const MatrixRef<const T>& key, const MatrixRef<const T>& value) {
  const MatrixRef<T> weights{x, b.rows, b.keys, b.keys, 1};
  gemm(weights, query, transposed(rows_from(key, 0, b.keys)));
  std::vector<T> scales;
  for (std::int64_t row = 0; row < b.rows; ++row) {
    T* const weight = x + row * b.keys;
    const std::int64_t seen = scores.seen(b, row);
    scores.finish(weight, b, row);
    T top;
    const double total = exponentials(weight, seen, top);
    logsumexp[row] = top + static_cast<T>(std::log(total));
    scales.push_back(static_cast<T>(1.0 / total));
    scores.drop(weight, b, row);
    std::fill(weight + seen, weight + b.keys, T{0});
  }
  gemm(out, to_read(weights), rows_from(value, 0, b.keys));
  for (std::int64_t row = 0; row < b.rows; ++row) {
    T* const to = out.data + row * out.row_stride;
    vectorized_for(out.cols, [to, scale = scales[static_cast<std::size_t>(row)]](std::int64_t i) { to[i] *= scale; });
  }
}

/// Matrices of one number: what a gradient is computed from, and what it is added to.
template <class T>
struct BackwardMatrices {
  MatrixRef<const T> grad, output, query, key, value;
  const T* logsumexp;
  MatrixRef<T> query_gradient, key_gradient, value_gradient;
};

/// Adds what a block of queries has to do with the gradients. `x` and `slopes` have room for its scores.
template <class T>
void attend_backward(const ScoreBlock<T>& scores, const Block& b, T* x, T* slopes, T scale,
                     const BackwardMatrices<T>& m) {
  const MatrixRef<T> weights{x, b.rows, b.keys, b.keys, 1};
  const MatrixRef<T> by_score{slopes, b.rows, b.keys, b.keys, 1};
  const MatrixRef<const T> grad = rows_from(m.grad, b.first, b.rows);
  const MatrixRef<const T> query = rows_from(m.query, b.first, b.rows);
  const MatrixRef<const T> key = rows_from(m.key, 0, b.keys);
  gemm(weights, query, transposed(key));
  gemm(by_score, grad, transposed(rows_from(m.value, 0, b.keys)));
  for (std::int64_t row = 0; row < b.rows; ++row) {
    T* const weight = x + row * b.keys;
    T* const slope = slopes + row * b.keys;
    const std::int64_t seen = scores.seen(b, row);
    scores.finish(weight, b, row);
    vectorized_for(seen, [weight, sum = m.logsumexp[b.first + row]](std::int64_t i) { weight[i] -= sum; });
    real_functions<T>().exp(weight, weight, seen);
    scores.drop(slope, b, row);
    const T* const g = grad.data + row * grad.row_stride;
    const T* const y = m.output.data + (b.first + row) * m.output.row_stride;
    const auto along = static_cast<T>(
        sum_of(grad.cols, [g, y, step = grad.col_stride](std::int64_t i) { return g[i * step] * y[i]; }));
    vectorized_for(seen, [=](std::int64_t i) { slope[i] = weight[i] * (slope[i] - along) * scale; });
    scores.drop(weight, b, row);
    std::fill(weight + seen, weight + b.keys, T{0});
    std::fill(slope + seen, slope + b.keys, T{0});
  }
  gemm(rows_from(m.query_gradient, b.first, b.rows), to_read(by_score), key);
  gemm_add(rows_from(m.key_gradient, 0, b.keys), transposed(to_read(by_score)), query);
  gemm_add(rows_from(m.value_gradient, 0, b.keys), transposed(to_read(weights)), grad);
}

}  // namespace

void attention(Tensor& out, Tensor& logsumexp, const Tensor& query, const Tensor& key, const Tensor& value,
               const AttentionScores& scores) {
  const std::int64_t queries = query.size(-2);
  const std::int64_t rows = rows_of_block(key.size(-2));
  const std::int64_t blocks = (queries + rows - 1) / rows;
  const std::int64_t room = std::min(rows, queries) * key.size(-2);
  dispatch_floating("attention", out.dtype(), [&]<class T>(std::type_identity<T>) {
    const Matrices<T> to(out, mutable_elements<T>(out));
    T* const sums = mutable_elements<T>(logsumexp);
    const auto q = matrices<T>(query);
    const auto k = matrices<T>(key);
    const auto v = matrices<T>(value);
    const ScoreBlock<T> of(scores, query, key);
    parallel_for(logsumexp.numel() / queries * blocks, room * 8, [&](std::int64_t begin, std::int64_t end) {
      const auto x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(room));
      for (std::int64_t i = begin; i < end; ++i) {
        const Block b = of.block(i / blocks, i % blocks * rows, rows);
        attend(of, b, x.get(), rows_from(to[b.matrix], b.first, b.rows), sums + b.matrix * queries + b.first,
               rows_from(q[b.matrix], b.first, b.rows), k[b.matrix], v[b.matrix]);
      }
    });
  });
}

void attention_backward(Tensor& query, Tensor& key, Tensor& value, const Tensor& grad, const AttentionForward& forward,
                        const AttentionScores& scores) {
  const std::int64_t queries = query.size(-2);
  const std::int64_t rows = rows_of_block(key.size(-2));
  const std::int64_t room = std::min(rows, queries) * key.size(-2);
  dispatch_floating("attention_backward", grad.dtype(), [&]<class T>(std::type_identity<T>) {
    const Matrices<T> to_query(query, mutable_elements<T>(query));
    const Matrices<T> to_key(key, mutable_elements<T>(key));
    const Matrices<T> to_value(value, mutable_elements<T>(value));
    const auto q = matrices<T>(forward.query);
    const auto k = matrices<T>(forward.key);
    const auto v = matrices<T>(forward.value);
    const auto y = matrices<T>(forward.output);
    const auto g = matrices<T>(grad);
    const T* const sums = elements<T>(forward.logsumexp);
    const ScoreBlock<T> of(scores, forward.query, forward.key);
    // One matrix's gradients of keys and values are sums over its queries, in their order.
    parallel_for(
        forward.logsumexp.numel() / queries, queries * key.size(-2) * 16, [&](std::int64_t begin, std::int64_t end) {
          const auto x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(2 * room));
          for (std::int64_t n = begin; n < end; ++n) {
            const BackwardMatrices<T> m{g[n],        y[n],      q[n],       k[n], v[n], sums + n * queries,
                                        to_query[n], to_key[n], to_value[n]};
            for (std::int64_t first = 0; first < queries; first += rows) {
              attend_backward(of, of.block(n, first, rows), x.get(), x.get() + room, static_cast<T>(scores.scale), m);
            }
          }
        });
  });
}

}  // namespace troupe::cpu
