#include "tensor/cpu/vectorized.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace troupe::cpu {
namespace {

InstructionSet of_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return InstructionSet::avx2;
#endif
  return InstructionSet::baseline;
}

InstructionSet allowed() {
  const char* const variable = std::getenv("TROUPE_MAX_CPU_ISA");
  const std::string_view limit = variable == nullptr ? "" : variable;
  if (limit == "baseline") return InstructionSet::baseline;
  if (limit == "avx2") return InstructionSet::avx2;
  if (!limit.empty() && limit != "avx512") {
    std::fprintf(stderr, "troupe: TROUPE_MAX_CPU_ISA=\"%.32s\" is none of baseline, avx2, avx512: it limits nothing\n",
                 variable);
  }
  return InstructionSet::avx512;
}

}  // namespace

InstructionSet instruction_set() noexcept {
  static const InstructionSet set = std::min(of_processor(), allowed());
  return set;
}

}  // namespace troupe::cpu
