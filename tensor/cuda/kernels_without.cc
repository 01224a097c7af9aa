// Where there is no compiler for GPUs: every kernel refuses, as those that exist for the CPU alone do.
#include "tensor/cuda/batch_norm.h"
#include "tensor/cuda/class_loss.h"
#include "tensor/cuda/coalesce.h"
#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/embedding_bag.h"
#include "tensor/cuda/gather.h"
#include "tensor/cuda/global_norm.h"
#include "tensor/cuda/group_norm.h"
#include "tensor/cuda/matmul.h"
#include "tensor/cuda/order.h"
#include "tensor/cuda/pair_loss.h"
#include "tensor/cuda/pooling.h"
#include "tensor/cuda/recurrent.h"
#include "tensor/cuda/piecewise.h"
#include "tensor/cuda/random.h"
#include "tensor/cuda/reduce.h"
#include "tensor/cuda/scan.h"
#include "tensor/cuda/search.h"
#include "tensor/cuda/softmax.h"
#include "tensor/cuda/update.h"

namespace troupe::cuda {
namespace {

void refuse(const Tensor& out) { static_cast<void>(out.bytes()); }

}  // namespace

void unary(cpu::UnaryOp /*op*/, Tensor& out, const Tensor& /*x*/) { refuse(out); }
void binary(cpu::BinaryOp /*op*/, Tensor& out, const Tensor& /*a*/, const Tensor& /*b*/) { refuse(out); }
void binary(cpu::BinaryOp /*op*/, Tensor& out, const Tensor& /*a*/, double /*b*/) { refuse(out); }
void binary(cpu::BinaryOp /*op*/, Tensor& out, double /*a*/, const Tensor& /*b*/) { refuse(out); }
void compare(cpu::CompareOp /*op*/, Tensor& out, const Tensor& /*a*/, const Tensor& /*b*/) { refuse(out); }
void select(Tensor& out, const Tensor& /*condition*/, const Tensor& /*a*/, const Tensor& /*b*/) { refuse(out); }
void axpby(Tensor& out, double /*alpha*/, const Tensor& /*a*/, double /*beta*/, const Tensor& /*b*/) { refuse(out); }
void convert(Tensor& out, const Tensor& /*x*/) { refuse(out); }
void fill(Tensor& out, double /*value*/) { refuse(out); }

void reduce(cpu::ReduceOp /*op*/, Tensor& out, const Tensor& /*x*/, const cpu::AxisSet& /*axes*/) { refuse(out); }
void argument_last(cpu::Extreme /*extreme*/, Tensor& out, const Tensor& /*x*/) { refuse(out); }
void softmax(cpu::SoftmaxKind /*kind*/, Tensor& out, const Tensor& /*x*/) { refuse(out); }
void softmax_backward(cpu::SoftmaxKind /*kind*/, Tensor& out, const Tensor& /*grad*/, const Tensor& /*y*/) { refuse(out); }

void gather(Tensor& out, const Tensor& /*x*/, int /*dim*/, const Tensor& /*index*/) { refuse(out); }
void scatter_add(Tensor& out, int /*dim*/, const Tensor& /*index*/, const Tensor& /*x*/) { refuse(out); }
void scatter(Tensor& out, int /*dim*/, const Tensor& /*index*/, const Tensor& /*x*/) { refuse(out); }
void take(Tensor& out, const Tensor& /*x*/, const Tensor& /*index*/) { refuse(out); }
void put_add(Tensor& out, const Tensor& /*x*/, const Tensor& /*index*/) { refuse(out); }
void pick(Tensor& out, const Tensor& /*x*/, const Tensor& /*index*/) { refuse(out); }
void place(Tensor& out, const Tensor& /*x*/, const Tensor& /*index*/) { refuse(out); }
void order_last(Tensor& out, const Tensor& /*x*/, Order /*order*/) { refuse(out); }

void cumsum(Tensor& out, const Tensor& /*x*/, cpu::Direction /*direction*/) { refuse(out); }
void cumprod(Tensor& out, const Tensor& /*x*/) { refuse(out); }
void cumulative_argument(cpu::Extreme /*extreme*/, Tensor& out, const Tensor& /*x*/) { refuse(out); }
void search(Tensor& out, const Tensor& /*sorted*/, const Tensor& /*values*/, Side /*side*/) { refuse(out); }
void matmul(Tensor& out, const Tensor& /*x*/, const Tensor& /*y*/) { refuse(out); }
void update(std::span<UpdateItem> items) { refuse(items.front().value); }

std::optional<double> weight_of_targets(const cpu::RightClasses& right, std::int64_t /*classes*/) {
  refuse(right.target);
  return std::nullopt;
}
void nll(Tensor& out, const Tensor& /*x*/, const cpu::RightClasses& /*right*/) { refuse(out); }
void nll_backward(Tensor& out, const Tensor& /*grad*/, const cpu::RightClasses& /*right*/) { refuse(out); }
void cross_entropy(Tensor& /*losses*/, Tensor& /*sums*/, const Tensor& x, const cpu::RightClasses& /*right*/) { refuse(x); }
void cross_entropy_backward(Tensor& out, const Tensor& /*grad*/, const Tensor& /*x*/, const Tensor& /*sums*/, const cpu::RightClasses& /*right*/) { refuse(out); }
void pair_loss(Tensor& out, const Tensor& /*x*/, const Tensor& /*y*/, const cpu::PairLoss& /*loss*/) { refuse(out); }
void pair_loss_sum(Tensor& out, const Tensor& /*x*/, const Tensor& /*y*/, const cpu::PairLoss& /*loss*/, double /*divisor*/) { refuse(out); }
void pair_loss_backward(Tensor& /*by_x*/, Tensor& /*by_y*/, const Tensor& /*grad*/, const Tensor& x, const Tensor& /*y*/, const cpu::PairLoss& /*loss*/) { refuse(x); }
bool all_probabilities(const Tensor& x) {
  refuse(x);
  return false;
}

void group_norm(Tensor& out, Tensor& /*mean*/, Tensor& /*var*/, const Tensor& /*x*/, const Tensor& /*weight*/, const Tensor& /*bias*/, double /*eps*/) { refuse(out); }
void group_norm_backward(Tensor& /*grad_x*/, Tensor& /*grad_weight*/, Tensor& /*grad_bias*/, const Tensor& /*grad*/, const Tensor& x,
                         const Tensor& /*mean*/, const Tensor& /*var*/, const Tensor& /*weight*/, double /*eps*/) { refuse(x); }

void batch_norm(cpu::Moments /*moments*/, Tensor& out, Tensor& /*mean*/, Tensor& /*var*/, const Tensor& /*x*/, const Tensor& /*weight*/,
                const Tensor& /*bias*/, double /*eps*/) {
  refuse(out);
}
void batch_norm_backward(cpu::Moments /*moments*/, Tensor& /*grad_x*/, Tensor& /*grad_weight*/, Tensor& /*grad_bias*/, const Tensor& /*grad*/,
                         const Tensor& x, const Tensor& /*mean*/, const Tensor& /*var*/, const Tensor& /*weight*/, double /*eps*/) {
  refuse(x);
}

void max_pool(Tensor& y, Tensor& /*where_max*/, const Tensor& /*x*/, const cpu::PoolWindows& /*rows*/, const cpu::PoolWindows& /*columns*/) { refuse(y); }
void max_pool_backward(Tensor& dx, const Tensor& /*dy*/, const Tensor& /*where_max*/) { refuse(dx); }
void max_pool_backward(Tensor& dx, const Tensor& /*dy*/, const Tensor& /*where_max*/, const cpu::PoolWindows& /*rows*/,
                       const cpu::PoolWindows& /*columns*/) {
  refuse(dx);
}
void avg_pool(Tensor& y, const Tensor& /*x*/, const cpu::PoolWindows& /*rows*/, const cpu::PoolWindows& /*columns*/) { refuse(y); }
void avg_pool_backward(Tensor& dx, const Tensor& /*dy*/, const cpu::PoolWindows& /*rows*/, const cpu::PoolWindows& /*columns*/) { refuse(dx); }

void recurrent(RnnTape& tape, const Tensor& /*bias*/, const Tensor& /*candidate_bias*/) { refuse(tape.output); }
void recurrent_backward(const RnnTape& tape, cpu::RecurrentGradients& /*gradients*/) { refuse(tape.output); }
void bag_mean_scales(Tensor& scales, const cpu::Bags& /*bags*/) { refuse(scales); }
void bag_sum(Tensor& out, const Tensor& /*weight*/, const cpu::Bags& /*bags*/) { refuse(out); }
void bag_max(Tensor& out, Tensor& /*where*/, const Tensor& /*weight*/, const cpu::Bags& /*bags*/) { refuse(out); }
void bag_add(Tensor& out, const Tensor& /*grad*/, const cpu::Bags& /*bags*/) { refuse(out); }
void bag_values(Tensor& values, const Tensor& /*grad*/, const cpu::Bags& /*bags*/) { refuse(values); }
void bag_max_add(Tensor& out, const Tensor& /*grad*/, const Tensor& /*where*/, const cpu::Bags& /*bags*/) { refuse(out); }
void bag_max_values(Tensor& values, const Tensor& /*grad*/, const Tensor& /*where*/) { refuse(values); }
void bag_scales_backward(Tensor& out, const Tensor& /*grad*/, const Tensor& /*weight*/, const cpu::Bags& /*bags*/) { refuse(out); }
SummedRows sum_by_number(const Tensor& /*numbers*/, const Tensor& x, std::int64_t /*limit*/) {
  refuse(x);
  return {};
}
bool ascends(const Tensor& numbers) {
  refuse(numbers);
  return false;
}

void piecewise(cpu::PiecewiseOp /*op*/, Tensor& out, const Tensor& /*x*/, double /*factor*/) { refuse(out); }
void piecewise_backward(cpu::PiecewiseOp /*op*/, Tensor& out, const Tensor& /*g*/, const Tensor& /*x*/, double /*factor*/) { refuse(out); }
void between(Tensor& out, const Tensor& /*g*/, const Tensor& /*x*/, double /*low*/, double /*high*/) { refuse(out); }
double sum_of_powers(std::span<const Tensor> xs, double /*p*/) {
  refuse(xs.front());
  return 0.0;
}
double largest_magnitude(std::span<const Tensor> xs) {
  refuse(xs.front());
  return 0.0;
}

void draw_reals(Tensor& out, const cpu::RealDistribution& /*distribution*/, const cpu::Draws& /*draws*/) { refuse(out); }
bool draw_integers(Tensor& out, std::int64_t /*low*/, std::uint64_t /*range*/, const cpu::Draws& /*draws*/) {
  refuse(out);
  return false;
}
void draw_dropout_mask(Tensor& out, double /*probability*/, const cpu::Draws& /*draws*/) { refuse(out); }

bool all_inside(const Tensor& index, std::int64_t /*size*/) {
  refuse(index);
  return false;
}

}  // namespace troupe::cuda
