#include "src/kernels/exponential.hpp"

namespace relata::kernels {

const ExponentialConstants kExponential = {
    .lowest = -88.02F,
    .highest = 88,
    .log2_e = 1.44269504F,
    .rounder = 12582912,
    .minus_ln2 = {-0.693359375F, 2.12194440e-4F},
    .polynomial = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                   1.6666665459e-1F, 5.0000001201e-1F},
    .one = 1,
};

}  // namespace relata::kernels
