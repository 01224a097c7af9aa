#include "tensor/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

namespace troupe {
namespace {

constexpr std::int64_t kElementsMax = 1000;
constexpr std::int64_t kEdge = 3;

// Significant digits. For the 16-bit floats they distinguish adjacent values.
template <class T>
constexpr int kDigits = std::is_same_v<T, double>     ? 8
                        : std::is_same_v<T, float>    ? 6
                        : std::is_same_v<T, BFloat16> ? 4
                                                      : 5;

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", value);
  } else {
    std::string text = fmt::format("{:.{}g}", static_cast<double>(value), kDigits<T>);
    const bool is_whole = std::isfinite(static_cast<double>(value)) && text.find_first_of(".e") == std::string::npos;
    return is_whole ? text + "." : text;
  }
}

// The largest numbers of characters before the point and from it on, over all elements shown.
struct Widths {
  std::size_t before = 0;
  std::size_t after = 0;
};

std::size_t point_of(const std::string& text) { return std::min(text.find('.'), text.size()); }

class Printer {
 public:
  explicit Printer(const Tensor& tensor)
      : tensor_(tensor), summarises_(tensor.numel() > kElementsMax), aligns_points_(is_floating(tensor.dtype())) {
    visit(0, 0, [&](const std::string& text) {
      const std::size_t before = aligns_points_ ? point_of(text) : text.size();
      widths_.before = std::max(widths_.before, before);
      widths_.after = std::max(widths_.after, text.size() - before);
    });
  }

  [[nodiscard]] std::string print() {
    print_from(0, 0);
    return std::move(out_);
  }

 private:
  // Returns the indices of a dimension that are shown; -1 stands for the omitted ones.
  [[nodiscard]] std::vector<std::int64_t> shown(int dim) const {
    const std::int64_t size = tensor_.shape()[dim];
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < size; ++i) {
      if (summarises_ && size > 2 * kEdge && i == kEdge) {
        indices.push_back(-1);
        i = size - kEdge;
      }
      indices.push_back(i);
    }
    return indices;
  }

  [[nodiscard]] std::string text_at(std::int64_t offset) const {
    return dispatch(tensor_.dtype(), [&]<class T>(std::type_identity<T>) {
      return element_text(reinterpret_cast<const T*>(tensor_.bytes())[offset]);
    });
  }

  template <class F>
  void visit(int dim, std::int64_t offset, const F& f) const {
    if (dim == tensor_.dim()) return f(text_at(offset));
    for (const std::int64_t i : shown(dim)) {
      if (i >= 0) visit(dim + 1, offset + i * tensor_.strides()[dim], f);
    }
  }

  void print_element(const std::string& text) {
    const std::size_t before = aligns_points_ ? point_of(text) : text.size();
    out_.append(widths_.before - before, ' ');
    out_ += text;
    out_.append(widths_.after - (text.size() - before), ' ');
  }

  // The depth of the recursion is the number of dimensions, at most kDimsMax.
  void print_from(int dim, std::int64_t offset) {
    if (dim == tensor_.dim()) return print_element(text_at(offset));
    const bool is_row = dim == tensor_.dim() - 1;
    const std::string between = is_row ? " "
                                       : std::string(static_cast<std::size_t>(tensor_.dim() - 1 - dim), '\n') +
                                             std::string(static_cast<std::size_t>(dim) + 1, ' ');
    out_ += '[';
    bool first = true;
    for (const std::int64_t i : shown(dim)) {
      if (!first) out_ += between;
      first = false;
      if (i < 0) {
        out_ += "...";
      } else {
        print_from(dim + 1, offset + i * tensor_.strides()[dim]);
      }
    }
    out_ += ']';
  }

  const Tensor& tensor_;
  bool summarises_;
  bool aligns_points_;
  Widths widths_;
  std::string out_;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return tensor.numel() == 0 ? "[]" : Printer(tensor.to(Device::cpu())).print();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace troupe
