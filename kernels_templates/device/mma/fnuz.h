/*
 * OCP's e4m3 as FNUZ, for matrix instructions that take only the latter. A code means half as much there, except for -0, whose code
 * is NaN's, and NaN, whose codes are numbers.
 */
#ifndef KILN_DEVICE_MMA_FNUZ_H
#define KILN_DEVICE_MMA_FNUZ_H

/* Four codes at a time. */
KILN_DEVICE unsigned kiln_fnuz_of_ocp(unsigned codes)
{
    const unsigned magnitudes = codes & 0x7f7f7f7fu;
    const unsigned nonzero = magnitudes + 0x7f7f7f7fu; /* in the highest bits */
    const unsigned nan = (magnitudes + 0x01010101u) >> 7 & 0x01010101u;
    return (codes & nonzero & 0x80808080u) | (magnitudes + nan);
}

KILN_DEVICE void kiln_make_fnuz(kiln_pack &pack)
{
    KILN_UNROLL
    for (int i = 0; i < 4; i++)
        pack.words[i] = kiln_fnuz_of_ocp(pack.words[i]);
}

#endif
