#include "tensor/cpu/convert.h"

#include <cstring>
#include <limits>

#include "tensor/cpu/elements.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cpu {

using kernels::make_walk;
using kernels::Walk;

namespace {

template <class To, class From>
To convert_value(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // 2^digits as a From: the first value above the range.
    constexpr auto kHigh = static_cast<From>(std::uint64_t{1} << std::numeric_limits<To>::digits);
    if (value >= kHigh) return std::numeric_limits<To>::max();
    if (value >= static_cast<From>(std::numeric_limits<To>::min())) return static_cast<To>(value);
    return value < From{0} ? std::numeric_limits<To>::min() : To{0};
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From>
void convert_row(const Row<std::byte>& out, const Row<const std::byte>& x, std::int64_t count) {
  To* const o = reinterpret_cast<To*>(out.data);
  const From* const a = reinterpret_cast<const From*>(x.data);
  if (out.stride == 1 && x.stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) o[i] = convert_value<To>(a[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) o[i * out.stride] = convert_value<To>(a[i * x.stride]);
  }
}

// Converts to the compute_dtype of the stored dtype.
void widen(const Row<std::byte>& out, const Row<const std::byte>& x, std::int64_t count) {
  switch (x.dtype) {
    case DType::boolean: return convert_row<std::int32_t, bool>(out, x, count);
    case DType::u8: return convert_row<std::int32_t, std::uint8_t>(out, x, count);
    case DType::i8: return convert_row<std::int32_t, std::int8_t>(out, x, count);
    case DType::i16: return convert_row<std::int32_t, std::int16_t>(out, x, count);
    case DType::f16: return convert_row<float, Half>(out, x, count);
    default: return convert_row<float, BFloat16>(out, x, count);
  }
}

// Copies elements of one dtype without conversion.
void copy(Tensor& out, const Tensor& x) {
  const auto walk = make_walk<2>(out.shape(), {&out.strides(), &x.strides()});
  const auto [so, sx] = walk.row_strides();
  dispatch_opaque(out.dtype(), [&, so = so, sx = sx]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    for_each_row(walk, [&](const std::array<std::int64_t, 2>& at, std::int64_t count) {
      T* const o = to + at[0];
      const T* const a = from + at[1];
      if (so == 1 && sx == 1) {
        std::memcpy(o, a, static_cast<std::size_t>(count) * sizeof(T));
      } else {
        for (std::int64_t i = 0; i < count; ++i) o[i * so] = a[i * sx];
      }
    });
  });
}

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

}  // namespace

void convert(const Row<std::byte>& out, const Row<const std::byte>& x, std::int64_t count) {
  const DType between = compute_dtype(x.dtype);
  if (between == x.dtype) {
    return dispatch_compute(between, [&]<class From>(std::type_identity<From>) {
      dispatch(out.dtype, [&]<class To>(std::type_identity<To>) { convert_row<To, From>(out, x, count); });
    });
  }
  if (between == out.dtype) return widen(out, x, count);
  // In two exact steps, because a function for each pair of dtypes would be many: `between` holds every value.
  alignas(64) std::array<std::byte, kBlockElements * 4> block;
  for (std::int64_t begin = 0; begin < count; begin += kBlockElements) {
    const std::int64_t size = std::min(kBlockElements, count - begin);
    widen({block.data(), between, 1}, {x.data + begin * x.stride * bytes_of(x.dtype), x.dtype, x.stride}, size);
    convert({out.data + begin * out.stride * bytes_of(out.dtype), out.dtype, out.stride}, {block.data(), between, 1},
            size);
  }
}

namespace {

void convert_tensor(Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  if (out.dtype() == x.dtype()) return copy(out, x);
  const auto walk = make_walk<2>(out.shape(), {&out.strides(), &x.strides()});
  const auto [so, sx] = walk.row_strides();
  const Row<std::byte> to{out.mutable_bytes(), out.dtype(), so};
  const Row<const std::byte> from{x.bytes(), x.dtype(), sx};
  for_each_row(walk, [&](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    convert({to.data + at[0] * bytes_of(to.dtype), to.dtype, to.stride},
            {from.data + at[1] * bytes_of(from.dtype), from.dtype, from.stride}, count);
  });
}

void fill(Tensor& out, double value) {
  dispatch(out.dtype(), [&]<class T>(std::type_identity<T>) {
    std::fill_n(mutable_elements<T>(out), out.numel(), static_cast<T>(value));
  });
}

}  // namespace

template <std::size_t N>
void for_each_block(const Walk<N>& walk, const std::array<Operand, N>& operands, const BlockKernel<N>& kernel) {
  std::array<std::byte*, N> whole;
  bool converts = false;
  for (std::size_t n = 0; n < N; ++n) {
    whole[n] = operands[n].data;
    converts = converts || operands[n].stored != operands[n].known;
  }
  if (!converts) return kernel(walk, whole);
  const auto& strides = walk.row_strides();
  const auto row = [&](const std::array<std::int64_t, N>& at, std::int64_t count) {
    alignas(64) std::array<std::array<std::byte, kBlockElements * 4>, N> blocks;
    for (std::int64_t begin = 0; begin < count; begin += kBlockElements) {
      Walk<N> block;
      block.numel = block.sizes[0] = std::min(kBlockElements, count - begin);
      block.strides[0] = strides;
      std::array<std::byte*, N> data;
      for (std::size_t n = 0; n < N; ++n) {
        const Operand& operand = operands[n];
        data[n] = operand.data + (at[n] + begin * strides[n]) * bytes_of(operand.stored);
        if (operand.stored == operand.known) continue;
        const Row<const std::byte> stored{data[n], operand.stored, strides[n]};
        // Repeated elements are converted once.
        block.strides[0][n] = strides[n] == 0 ? 0 : 1;
        data[n] = blocks[n].data();
        if (n > 0) convert({data[n], operand.known, 1}, stored, strides[n] == 0 ? 1 : block.numel);
      }
      kernel(block, data);
      const Operand& out = operands[0];
      if (out.stored == out.known) continue;
      convert({out.data + (at[0] + begin * strides[0]) * bytes_of(out.stored), out.stored, strides[0]},
              {data[0], out.known, 1}, block.numel);
    }
  };
  for_each_row(walk, row);
}

template void for_each_block<2>(const Walk<2>&, const std::array<Operand, 2>&, const BlockKernel<2>&);
template void for_each_block<3>(const Walk<3>&, const std::array<Operand, 3>&, const BlockKernel<3>&);

const kernels::ConvertKernels convert_kernels{.convert = convert_tensor, .fill = fill};

}  // namespace troupe::cpu
