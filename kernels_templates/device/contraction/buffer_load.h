/*
 * Loads of 16 bytes from memory, or zeros: buffers answer zeros to what lies beyond their end, so no register has to be masked.
 * A pack that begins at an odd element is not aligned to a word: it relies on unaligned access of buffer loads, which only the
 * emulator has run.
 */
#ifndef KILN_DEVICE_CONTRACTION_BUFFER_LOAD_H
#define KILN_DEVICE_CONTRACTION_BUFFER_LOAD_H

typedef int kiln_int4 __attribute__((ext_vector_type(4)));

/* The fourth word of a descriptor of raw 32-bit elements: AMD's ISA documents of CDNA3, RDNA3 and RDNA4, buffer resources. */
#if defined(__GFX9__)
#define KILN_BUFFER_WORD 0x00020000
#else
#define KILN_BUFFER_WORD 0x31004000
#endif

/* Offsets that lie inside are below it. */
#define KILN_BUFFER_BYTES 0x80000000u

/* LLVM 15 has no builtin for it. */
extern "C" __attribute__((device)) kiln_int4
kiln_raw_buffer_load(kiln_int4 buffer, int offset, int uniform_offset,
                     int cache) __asm("llvm.amdgcn.raw.buffer.load.v4i32");

/* 16 bytes, `offset` bytes from a pointer that all lanes share; zeros if they are not inside. */
template <class Element>
KILN_DEVICE void kiln_load_or_zero(const Element *from, unsigned offset, bool is_inside, Element *to)
{
    const unsigned long long address = (unsigned long long)from;
    const kiln_int4 buffer = {(int)address, (int)(address >> 32), (int)KILN_BUFFER_BYTES,
                              KILN_BUFFER_WORD};
    const kiln_int4 words =
        kiln_raw_buffer_load(buffer, (int)(is_inside ? offset : KILN_BUFFER_BYTES), 0, 0);
    __builtin_memcpy(to, &words, 16);
}

#endif
