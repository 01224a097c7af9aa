#include "samples/language_model/served.h"

namespace samples {

namespace nn = troupe::nn;

nn::Embedding make_table(std::int64_t words, std::int64_t width, std::uint64_t seed) {
  troupe::Generator generator(seed);
  return nn::Embedding(words, width, generator);
}

nn::Linear make_decoder(std::int64_t hidden, std::int64_t words, std::uint64_t seed) {
  troupe::Generator generator(seed);
  return nn::Linear(hidden, words, generator);
}

troupe::FunctionRegistry server_functions() {
  return {{"make_table", &make_table},
          {"look_up", &nn::Embedding::forward},
          {"table_parameters", &parameters_of<nn::Embedding>},
          {"make_decoder", &make_decoder},
          {"decode", &nn::Linear::forward},
          {"decoder_parameters", &parameters_of<nn::Linear>}};
}

}  // namespace samples
