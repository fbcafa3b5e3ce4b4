/* twister.h: the Mersenne Twister's words (MT19937). */
#ifndef GL_RNG_TWISTER_H
#define GL_RNG_TWISTER_H

#include <stdint.h>

enum { GL_TWISTER_WORDS = 624 };

/* gl_twister_refill makes the next words of all that there are, before they are tempered. */
void gl_twister_refill(uint32_t *state);

#endif
