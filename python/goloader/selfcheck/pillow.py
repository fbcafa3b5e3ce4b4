"""Pillow's behaviours: its decoders, and what its functions make of pixels."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .behaviour import Behaviour, golden, picture
from .resize import ORDERS, resized, vertical_first

__all__ = ["BEHAVIOURS", "CMYK", "JPEG", "PNG", "files_of"]

_MODULE = "PIL.Image"


def _images() -> list[Any]:
    """A picture of each mode that the core has."""
    from PIL import Image

    return [Image.frombytes(mode, (29, 17), picture(29, 17, len(mode)).tobytes()) for mode in ("RGB", "L")]


# ---- decoders

# Of 27 x 21, by zlib, each behind its length in two bytes: 4:2:0, 4:4:4, 4:2:2, progressive, grey, with restarts, CMYK.
JPEG = (
    "c-rk)XH-+$w%&n+UJ@V(0!F%mpdd(75IBGl>Agk}1VpM-r5r#-Kt-xlQ3L@g5v55<kRsBggQ15aA_9rDC?R>lcj_4T$9-?SJI1}|ow>)@f7V{#p5"
    "L5ve{=5jGno2;ItxJ0>mqdl5C{N3v<sk40NMbUo@R9WcQ6<XVPIikfIt}7n3x$^IM_HjIM~?PIbpoqoKQH7ot^t2H~at}KR-Vwmw=D}pAat}Ki@t"
    "Gh_;mh!obSFz{&?@hw}Z8joJ*rm;g8+Ko1fD=wKjv7>L>iAZUI<KtBxl#XxlQG$$FEm|0k94^%?|I?xaAArLT_wi-@b2f#20m#~~B1GkA2qlh1md"
    "{ojCCQ+@*H*nJdg4juC|7d0wUK)#o;u4Zaj!G#go>Ed)QPuuQM_2D0^1PY3g{76XjqN2D*UN719#^gf1O^3%gkF!idFyuUow)eql+?8JhZ&h!`A-"
    "W9pA{9CJb(GBs=B7O?sa`jYg_x<j(441gG0k3qhlX%<M_Gxg~g9cpO!xpziw=9ZSRo2ec$H=0_Z`%+CSt4qw%5xgXzJH`@BGO!TS%uzz|_M1};q#"
    "MkhaR5&0-49<8J&m2a3uPnr_o&i(@|ykZJ?apFF;AI$zaV$uIAX1@{po!2<PMh~JTj~)hS0K`aEl4itcUj6zqO2<9fE`+t&%26a;`Ci)<(O0)GAX"
    "J0!2Lw`IFn+wq5mX8rtPGRHdq_0t#7`A?*ID#hjry#Sug#YlFzUH;#1yJus=I&rXs{e`GO7R8w=_de;)6D2`l&fbRdn0d)G;9y^CBUaxol*Rk8AL"
    "=z1>4bOf5F;A*R`Tli|x)@u5+>;HgbloOnVr6?i4l6sE3Ut~IeMF~-#Pux<}`xJ2OmlcXp~p!l;dJBo#LHnN4kC}M?T!!iA_g6#P6?n(qFfz8Ua6"
    "KsQRfZDI>Ui-PS8`{@%fP-13EeDj7$4yjExiqK2cSZHN?ef>Qp(<$i)hC1J^7n?l1tfz^cv5n>kb+h{7nO}p^e(G@=(%v>eL>Dv)fBoL?%p6a=ug"
    "TX^X_ZoqXOQSlUj63qi=>TeDf)zz#9X6U(HY$KGqUv9EcSe<Gh*A+8-~Ev2ZQu$z_Gcs-^U_L<!J6F1F8sTHls-EF|18idnTJ2MZPFH}-LFTyR9i"
    "l<2Wqyj9&IPmGZJ2K*;WnbTY;tq=n(wdIi=uPJP{N<x$6iUTQW&gYQ93kO^4Gi@hSZ`<oJCyR*(El7RQ@@0j*_xG5F6M{0S0Mq5%-A*bnay`*(RR"
    "{ikJG=$w$e`ZMd49l9+UltL)BMKlAcw>bQVh&gW%P3XYPZcBJAGZjF6o6T4Jxh)@*kr>u)h`PFQ!04VR~)-i`Vl`Ms;8;N;WOy#A|<UgapnVy>w?"
    "%H(yQJ<;_NsH_Y#~J`iykSh`XvB>k=9Ob@R|g0=bP_0H}1sV}QIlzvtHqfxV%M}dh&G55YXzVs}xT-y!`hmX9@GP)*(bS7wg=|rPAlUIyuD4o?Ua"
    "^h<mLFc4&2a8=UBAcaDbLfegx19w0&O9}wd_ky<c(Gq!4|erY&qj|ZXA2!MD~~fonkJ;p4W>FK#f+50ky_g$($$q#Ef^?*aNA?1o(iOE*S<!l_SR"
    "(~>`T@IHSSiDcDCYHh99;>@Fsf>TbGaPuH3R8!+o3#ywlNT{=zQ}DSksoMa}Dm^z!quo?XF1a=Of&AJAnpQ>3L1%Pfxj{X&fA!#ex~dra4y0XNYn"
    "tQ%4}h<V{VzKn*9H|wGwaaos{!}&+<QGt*_KL=6w4MTa44J1-`bTQfVKDIwhD1E4taQr}=(ZtA<0-EpHmxh(6>DaC;Ly6e-l_T$KXQ=?t9(e45PW"
    "Emk<o&RlGOJ)E8~KgzY)THYnZI)tuMX)VtQ^StXkB74qI*<FTPOJV^{-y~_^=8Y|0bW>Zc;+7Rm+0M+tXO<Y%9vDSjEE)U9&8o{50_fQkYTOcZ0+"
    "`WT)cKC7wmy+=l(yGB0D1A_+Stbyst7Kbac(BE|erXxEHsM7MA1i^>+W9cRoDovu}fXX6bXwM{cYQ@9Nk?$V#TKlS@3hm}-qUNPM%C@(CVu&l{Gd"
    "CiWrUO^hW;Kh1j$hkjY<rcHQXh!ep*4)mIPG|2$8Jo)*G9A-~qm$9LHFjnzaJN;78cbYJ(3r)*^t2W7(K-X^T1=Oe9^BEp{2W=yGJd=-eeJ6)uGa"
    "NNVL;|*6k`=heZ;53Zyd`tkJ0D}b)~p{3cWca{ZDDK=MHm-gBc{Y^`ac#^7+(45C4v2!?oU`qvq$=r$=Q19QryM9deJalGSziY!%X^43R6cZhc3^"
    "*1IN(zf=rv4yd(YIEFOvY(v;kjqhla&*7z=y>&*+TlIOEQtXB{6-ayJsG(5075Ax@QlCe~_59}ykivh<_y4~E5^GLWQ@by(&ym+QxI6PH1m{wim?"
    "kI|F=4VhjjovZ;)*=x$heoOxPt%caD{gUcdAZTtf^zI6LN0cg6%G|GDOep=PM+u7J3S_S8WIN^<B`8A{n3S=2vvE?lwiWJnSj_dyVV7;h7GYu1r&"
    "CUfQFFj=>2=ogye^k}VQ#;#}(?PyxSYv6a1x6(oHg(i|A4f4ppzu_l@s@6dCWZ6QE7!qqH>>>|ejeCM<5Res8UT9*q^|1A4j`U8VcY2TZs^0O^Jt"
    "PsXw<#)gL8r{BYx4wQxB(G~Vw5^}i<jOxvM$Gb66ecshiVQmZdi?GZ=u*0HUWTk7*R?ohdKGoaxp0Y&wulqMf#%gii*ZHn!s$5ef+U^Y;>lBnU-F"
    "MiDvKp6qx(Y;M><0y*;z7DE8#8$lSPp3b%SbmjHjA-saHdQt;|MQpa&8BsB$|XA4_msSKQrPO9>B{9HpqOU=)W0w1yNuR0*l#we0VFJZW@d$v-s1"
    "SoESfoHZqy7257OjN$Ykgg>9TKVKb&LJ$ufm*{?OTqJvWZDM?V(;=;|3}12R=>u1kWufflt<-YQrkc^t0ITpDIqlP>ffeL)M5RQD53=RQ4$biiY0"
    "HY<?BwEV@P`KpD?_4}R20@(NNN|Tz|E6}dka+HbCX`lHoBrmnc)##d|_O>p}&2c@;Ganp25N5_0qBInk)y3XP)z3dSJ$Llb82&j4-Lg`FVXyE5lU"
    "WiGO!BYxzgN!v_I?j;2n3G<q-t2*OBPJFu?^e_8@)F8umQLFu71j)j}n`k{J9H*;D73*b*j7NqB?0B!3bng-I-bn=g=AUX&G7dMZH7!84m79bFW&"
    "cf(oud&u;*t}E;vAC?a_r~e%Ceg-s#jUre)Sh+-23pssCzm9)(g4L_0EiYs#^3#+Nf8X7hX`w$FmUn6$vZ_6e&EtHOas&c3VD$-cT%Hi49fAkzX}"
    "c&Tf}-*J?r&S^yzdxAq}m2yw&4gN0N}HA&bBO074J`Lkxb%9sr}swTTmhX3`H>x_#K>+|!xFpYok=Zx@KztI2vEVO~&LdOWeVwXl}v9d{?GjE5rg"
    "92D<5WT-b5NP|8C-FF%SV*VYP78aN=n2TFZUQ<NN#4jrP$pGP(cra+t;nbjKdyX|<PgC0+R6=4_!i!f2Y^n{S54!8TidwMb1O(3s)tbzJBc_nD*6"
    "+$eKE}s*Z~EO44VF5XvND@hsl3ry*2DOq*ktkx_LnTs(VEpCsKJEg0H~&kQ<UGYS<nz>!D};$_rLgdhCcPsGoSniJ_@r;(0V?*M@e=|o%FbzIrBR"
    "1T46)R7zVjG`e~r`!9e(FQxjI4Ex#$o+Bq2xR<pH<{Ix8A{Xjxlp_u*m(>ey-pUUgU`!!9Xoc!>=Wea+A7eVj1+?y-toB!F&qPYYcH~tB?klguY7"
    "MudnI;RTDqhSfc_G1V984Hjz(TuA6EkRHpU#PKiy?FUfMz5-);05SoXpmBcg23rLyYNMkn|7L7rf+&^SVB-5ahhL$C?*&{YtAN4ewDw41^OL(*W3"
    "7Pi0NY?dUxeFMW*s=BJswSOpDPP8fb6-EUt|2ijRF+e6yK$pqiGJ!Pblc(dAi?64@)`Q$=nv@g-&I!wS5lvtW^ocwXfqHyZ`fET&o~gJ`KS4adIY"
    "WmKFL-M>yTngP}yA3KP~>@PdC{CBEojs06J{$n<!ba4}1rhdo+`x%2ezs(uvc$g;a^xI~{+PFant?4-#DSbP;duM8lAnk8u@JV+5X%olZwMV^UIo"
    "AmwdOg{dDB}HOY^!4mVZ(q5SbY6%HHzR=nAt)dFZ8DZH9L3KtMYC}uoJ}d?R7Y?#rmOvr>!9H`6}}^PCi7V<&8TF3wT?IvLqzJ@x@T&oC9Y!S@Ba"
    "Ir;O;{7#?L!K3$c#gSr)#yKBFav@%m;@iuK6@rnwxXcXEkKXS{&t_q}1t-odH2`{}YAMx?pdj`c@1(CRZD$szU;^O{3Z2fyy{uj^6Qvl7=fAb?(H"
    ")?-_SY-%e+hq(L+ZkAF7wIyN=S$u}G>E}PJ<R1#h|R)<3_+!M6cZ;&TVZ`FvRim!a%3i9)FjvE4Fwec+2(M9(vCB0Zt;6xUKMBlZ_)TSlFBJRpG="
    "vHkQ}@krZ>;7XQA()Zk-hr&F__}isV7n-)nVQ>k>)67L62*Uu^b$<di)aSecRGl#5hZ@n}G$OAQ1e3l@n=6;q99=%u~aS$fO|D_CGlDT|m_BunBz"
    "OJ5`jK^@rG^O?sq%sa?c$(%Gu&>X7Z5r238lEMZ@uw>>fx>FEM<JZcEE7>fY^k=v87{|*=YicGsA&!zCGa9jsruTVE?*^`Xt1bPO=ajx^eWCRDHl"
    "NfL*o+~%!F!dAqYid8jCfbi#2u0#E=)j13S%a<>5E<4d^1I~th}`<+9ZJ&_Dd4Ecod^Y-u~H7W8R)s@s|3q3F`6Eq)giEr7tfw%X#Li{nO)Br8{d"
    "~KaePg+sy9=W)?U2kNR2;4#djGf0N;);z;{av<7f!y7)M|0xmzQ|Np9K@%+#bur>@ZfB`lzK>sh@y*R+yfB|3w=>NHg<%Jz3v{EFHl*E}q%yS|t{"
    "tG2?`uGwm^7noeZc^BHiEwEaQ#fCG$7}jKQ`<p@vS!$|8<O2DS7mPvBXV16@CVPeu8qZ#(CtBy8tVr(@|$AjtnO&wfxT3+*Id9u<J!7}^U0&5^G0"
    "4NZ~XicLR>5-3xm4l<u3ZuCCi^>>?6w+wa#+lw5?M0ypLCZ7;4@2v)5XCS^ZA>h=5%6t-89v%fi8j-~02BBIC(cZW|P0q^k6WZ7Z#L#sz2`CyWhJ"
    "0nP}%$o3Zlkpom<agz4`yQrit{c6`fuh9`xWmP~vJrp?-hDm!DVup_;Ur5<QU<<ErQh@_o>-<+<EkA+|D*8ZCda&HpfKnUT#dB|1><cbFc>MD2Jp"
    "V<t0hD#vFZ<`H05{o#vpw&w<slYAVSCe9Orw&@SM;%^-~_XJR}--|-@BE$#J9~#47ygXsUYVWJfZ{3yPCd!ekkm?hvMV<_$9|-t}_!gbEo2u%eyb"
    "Ma#_qfG+3V!0MfcC6VsxY!3Y>hsX0B)k4KgAL}qcAXwPGHf4~fS`eFppW=%9D<(50oY!3YM=}R7ag+#YzEZbE?ASTgkuPEYyqmQ<q%EUo^CcMl2B"
    "i$v=h7%P4qs*{vL@$cHD%VmUD@4{GX*6K-Zx^!+I<@@lr_TkMq8aOHQ}$j6QQa=3iwn_(VNFiYs6bmi;vvbi6(jyBl8{GsAacg_d+hLjo$mDX^ef"
    "6G82NZd^s&WHWSsi+ME4j6v$HM;2sWOi^o<9WsfJ@)`sf-@4U`=jQ$5qvR%me+vXEpm^+M&cc-%s=p*#8~Qm6-F4a+h@O5C*zDV>{%eMaz!-4uvq"
    "a90{AvyGmZQXH8YT&!(#8;^4GHI@fY20gHU`qD~Z4m&RJHcvy8LO~GnF_pi-Y$oFRS`NBxrxgix5XNFd(A&3(MSbt605+C<1f7EQ%=JHWW4o(v5Y"
    "xIHNz&UaJ#(^WLuv1+e|8h88JAdn^{vt5`_N`Iq4n+9v>1lC)4?nwLj|hSTQ;n#UcELEGm&X(5C{=`D>_}Aq{r`6ogs?^r=W~yC|&jKm?lAt7^xw"
    "$*dw9gea+Bj`>R}vS?yKyvFCMO1s_kn1N-GfSC+|$Qr^ezjej8Bz_XvEz;7pXkQ);5JBmG%lpYG0R;5IX5GsJ)1D9)j<BF%^{tGpdsT2"
)
CMYK = 6  # its place among them
# The same: RGB, grey, RGB and grey with alpha, palettes of 4 and of 8 bits.
PNG = (
    "c-nQ8c{~&TAIImu=4<4ZYp$Fz(#WwgxtW_JEtY$sTwSPKb7X}nBqF()MkTq1HFIRx<ZL1_^pmS^sqgyr`#rw>(;uJL>z~j2_4qtq&(GuS&6bXEv="
    "Zc(<_7=(f;QH07naMgju<aHOQA2>qW}Ol1snKrx45FZ(V38L7>MgE^)9Fz2@)0-RtJN@mc-ozkh%*T4lmDjA(v`R2~bOd{L2I>y}AR}DHJrKCY~E"
    "iw9f2>mj|8m4NG%qQfcYUri)!+w9_Sc7>I-E{*hp_G}lPgA+c@~cA+@9T$2^!xKNw%UfwO;)K0d)uolc5=tvj(_A$B@LAd)CED^-ll*22^+~GxTc"
    "&4>?tWq!+eyl}Cy<G_PZt{s)!I5|OPTMlygBB<vw;81`<b<pu{j^#H>aN|Vh;_$sozs+;UW@YpBBwMfXT@JpmhRBM4IN#ayIibkIDyj<8rEobJB{"
    "jf*O<tdGV)_MU#<R@df2HKa+C*0?9U8p-GS~4OH>6_RIZn3MgHgO)`63gcF|E*NDEeF02@n3c>Rg9H=F=}toG-%I|T9<mWltW)<0mrkFTI0@}~21"
    "XQN91KuI}I5oBI&{`bI`KeOUyY3ppB3X7HLufTTdoBy&xPzyobsDD}g`0+2R3au%Ly6~(c>4riag-nQ=elwqjm>*I>1gwN@BEgj{?~|%Y_en2EDW"
    "u1wd{PT3n{);1i#5ew!*XCPuu51Va6ecLTzQW7Gi;tMPGJ+qOd@h@CHl%64EGq{GE#^D90VCD#K0H;<4&|pY@<-Fn4&#Q0l*GsYf6Lzxai?Zx7sE"
    "8jT1JgL_hk}4>v>GIwnDKLT9WG2MOFMk`MK@HZdut$xY=UCf5_gKO+ZCNITCS@GFMhl?@F5a2Jk=uWS1FP4-1U5WtgD#yiX#FtdG&sM;1veq+MY{"
    "(AwR^0OIA9)r8vAC?IH56IuDK790=4QRKgFQ}hCS{wF_qfk~)lir7Z`|`Zn2Q#)~XjchL;hDtWd-wP=NKTf@(tPWG+W$f3EPS^$4mhVOkQpK~Zde"
    "`eCc~Ob>{R_k)QuefJ=f-sJUKa7YWXQmoMmbVdpAqsMnLCKjP2?}tASIrlHimgtik=TKJTbIE*QMnRgJLhLx_??%FSIHFjdyb%&(`Y4CsZpIg0{D"
    "78YwLIcfPZR4;-0ZXHcwJbSDH(94^%&efZzD-fv&-7{{}of!IbA$Y#yx%kK7_)iC-sW@6|+lJ>+w*GoWUeOf;Zqu9|d|8VF!VJ5sK`IO1Z4XbW8l"
    "C(4${1ATweHAqi#&YRh;Uu%qR!Qs_4o!uWUv$ZE;_z|VMncVd}<{T+BHO%{xIzKU5PnAtY4lfJG4~Ue(&|erP$ooSJw;%YZI#c9eBpsJrAM?*Fh%"
    "h-nBacCAD);m?){(!-mxD<)|R}GyC72zjHt!aqnEO64`#QlFa!>L_e!c1fV1U0CumRRjz%0y8b<Ich7%~QLwdbx4tL3@=>Gw%gs_|X3_hUyIY8qJ"
    ";Agk_`=u|<|vZU-MCEj|3EignUrGmn-)(N(0Y#J1`E>0!?K1`Fg-a@+hcxf-J#3Np6_N4udbS`K7-862CgSuSr$FHgVWn|(chQSSqzSQ?G@7LaC~"
    "fAeW+5Ub6KUw0zIMV`$o{US3zT3$&f6m)2%R3*Fk?AGlvhDd2Tk=AVMoQ8OdFFlZlzZMU3Au8cX#WysnLDDNd`cxYT?#t?WsB*@Li0>Ae}4j_ku("
    "n2d=0lE|!TbW+o)(o)y*K!++H#fCbShBHdVI2XbR^QXtOoAngyU<$Q@vZWADOukP-rCD;06n0i6Jxem7$~ymwYnp`oU1!Nu7xC*(5~;wh=#kcN3^"
    "g{o)1NRB5>JdiJ`i?_c-ErZzNE)4wp~A=!^Nu2+WNy$GyM6O>LB&#XhM}oY(R7iD!3ix(@_l{dSsniq~BCyX4zmaaQoQFugW8nGRXwF<Zb@fBYgd"
    "JoEhJw5&P0|fAibSNW<z?JgVg#aEfm;WFMz1rKSn@T@t#H#rZm%6IUuLf8&sQl$3WV5Rt^E=M>pximta0c&UuWgCbVJ{vGg(*W}{-4@9333DXt|z"
    "APN*_}4ipSNqp+c)z*RfQ~ceu;qlkN1L?=Ow@f`%&U&iW?I100ElqpwT7QCo;(7bG}M`vGGmAwVG3z5U5p1TjwkEsd9xc}xQ^IyL1p#8@1asF%Hk"
    "gnNPX54SQX*h;^O*dqA-5!;01e5^dVrOintMc%Z9@GW7_{)1JFy$^GO`3LKmhy&Ui52E2xf6=iEhylWF)+ByUgY&9A#_MlX?5jLmaSYFG5Km!^x{"
    "LfIbsu8LSl?rh9;1X5E3GX@4;nk2oY%S2IK9rhBV_>6%*t>~Gjkv)uFR0Sv;q%;+yok>H|@u<(6i*}y5dEHNwvckO04-*rS`d%U22(nc5;6(0i6w"
    "Nqiy4rmpf3QGLoBfc=YrfI^;7|>EOK7-Pqef5lWOJociJb8IJFt4!<TP6@9&|p~$K0F(%R}x^?olgKQ`??FZPS{aK9YFIe0V~Av3y8Gk>dHKEs}L"
    "k?lUMYcWC7$P)5IHVkYCxiNzfV5pH#|ukUYYb<IV##m#0WCD|(}%K2^770I$kNf0w>=@k<bS5*&*$)xuyEfkCkv@xk`ZjMGfim<qu8n{ACKVlh^p"
    "AXFP@w5!qJa~pZSAZWlMjLl$aND{o`<#;2H>kfSyP%d3#$^!^k@M=69HP3WrUq;@Ia+`#MMv8w=5Ow-0Z*o+T)qr}K=xtk4~z87FZ%DVECUFStd?"
    "|xLPE%7vi0`vj)!|i#q&*lecHxpU7Ft-DLW6y&yOD+9X;@(twuxB^|XWi7fGK9wguSY9vR9VA0Lle<hy2Snx~T7`A`%Utm!4d-?$JN31sD2ef?Y2"
    ">AqVb4vR!`0~<UL4-e9H!=-!PJhD=AdSFu3((;5fI5>U!NfUZdt8wFTJO|*@)bvRe|4(Ya@3MaYJat7~"
)


def _decoded(files: str) -> Iterator[Any]:
    """Each file as it is, and in RGB."""
    from PIL import Image

    for file in files_of(files):
        with Image.open(io.BytesIO(file)) as image:
            yield image
            yield image.convert("RGB")


def files_of(packed: str) -> Iterator[bytes]:
    """The files of JPEG or PNG."""
    content = zlib.decompress(base64.b85decode(packed))
    while content:
        end = 2 + int.from_bytes(content[:2], "little")
        yield content[2:end]
        content = content[end:]


# ---- resizes

# (width, height) before and after: where the orders differ each way, the edges of their conditions, an enlargement,
# and more pixels for the arithmetic.
_RESIZES = (
    ((4, 30), (3, 20)),
    ((6, 12), (5, 10)),
    ((6, 13), (5, 10)),
    ((2, 201), (1, 200)),
    ((2, 200), (1, 199)),
    ((5, 513), (2, 507)),
    ((5, 4), (9, 11)),
    ((31, 23), (17, 19)),
    ((60, 40), (11, 13)),
)
_FILTERS = {"lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def _order(number: int) -> str | None:
    """The order of passes in which a filter gives Pillow's pixels."""
    left = list(ORDERS)
    for size, out in _RESIZES:
        colours, grey = _noise(size)
        fits = {}
        for vertical in {vertical_first(order, size, out) for order in left}:
            fits[vertical] = all(
                np.array_equal(_made(pixels, out, number), resized(pixels, out, number, vertical=vertical))
                for pixels in (colours, grey)
            )
        left = [order for order in left if fits[vertical_first(order, size, out)]]
    return left[0] if len(left) == 1 else None


def _noise(size: tuple[int, int]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """RGB, black and white, where the orders differ most; and a plane of all values, where those of a box do."""
    return (picture(*size) > 127) * np.uint8(255), picture(*size, 1)


def _made(pixels: NDArray[np.uint8], out: tuple[int, int], number: int) -> NDArray[np.uint8]:
    from PIL import Image

    size = pixels.shape[1], pixels.shape[0]
    image = Image.frombytes("RGB" if pixels.ndim == 3 else "L", size, pixels.tobytes())
    return np.asarray(image.resize(out, number))


def _resize(name: str, number: int) -> Behaviour:
    return Behaviour(_MODULE, f"{name} resize", lambda: _order(number), ORDERS)


def _nearest() -> Iterator[Any]:
    for image in _images():
        yield from (image.resize(size, 0) for size in ((13, 40), (58, 7), (29, 18), (3, 2)))


# ---- functions of pixels


def _crops() -> Iterator[Any]:
    for image in _images():
        yield image.crop((3, 2, 20, 15))
        yield image.crop((-4, 5, 31, 12))


def _transposes() -> Iterator[Any]:
    for image in _images():
        yield from (image.transpose(method) for method in range(7))


def _expansions() -> Iterator[Any]:
    from PIL import ImageOps

    for image in _images():
        yield ImageOps.expand(image, border=(1, 2, 3, 4), fill=(9, 8, 7) if image.mode == "RGB" else 9)
        yield ImageOps.expand(image, border=2, fill=0)


def _lumas() -> Iterator[Any]:
    image, grey = _images()
    yield image.convert("L")
    yield grey.convert("RGB")


def _enhanced(kind: str) -> Iterator[Any]:
    from PIL import ImageEnhance

    for image in _images():
        for factor in (0.0, 0.3, 0.7931, 1.0, 1.4, 2.7):
            yield getattr(ImageEnhance, kind)(image).enhance(factor)


def _hues() -> Iterator[Any]:
    from PIL import Image

    image = _images()[0]
    for shift in (0, 25, 200):
        hue, saturation, value = image.convert("HSV").split()
        turned = ((np.asarray(hue).astype(np.int32) + shift) % 256).astype(np.uint8)
        hue = Image.frombytes("L", image.size, turned.tobytes())
        yield Image.merge("HSV", (hue, saturation, value)).convert("RGB")


def _levels(name: str) -> Iterator[Any]:
    from PIL import ImageOps

    for image in _images():
        yield getattr(ImageOps, name)(image.crop((0, 0, 9, 7)).point(lambda value: value // 3 + 40))
        yield getattr(ImageOps, name)(image)


def _transforms(method: int, data: tuple[float, ...], number: int) -> Iterator[Any]:
    for image in _images():
        fill = (9, 8, 7) if image.mode == "RGB" else 9
        for size in ((29, 17), (35, 22)):
            yield image.transform(size, method, data, number, fillcolor=fill)


_AFFINE = (0.91, 0.32, -1.7, -0.27, 1.13, 1.3)
_PERSPECTIVE = (0.93, 0.21, -1.2, -0.14, 1.07, 0.8, 0.003, -0.004)


def _transform(kind: str, method: int, data: tuple[float, ...], name: str, number: int, known: int) -> Behaviour:
    return golden(_MODULE, f"{name} {kind} transform", lambda: _transforms(method, data, number), known)


def _blurs() -> Iterator[Any]:
    from PIL import ImageFilter

    for image in _images():
        yield from (image.filter(ImageFilter.GaussianBlur(radius)) for radius in (0.4, 1.0, 2.3))
        yield from (image.filter(ImageFilter.BoxBlur(radius)) for radius in (0.6, 2))


def _kernels() -> Iterator[Any]:
    from PIL import ImageFilter

    for image in _images():
        yield image.filter(ImageFilter.SMOOTH)
        yield image.filter(ImageFilter.DETAIL)
        yield image.filter(ImageFilter.SMOOTH_MORE)
        yield image.filter(ImageFilter.Kernel((5, 5), [(n * 7 % 11 - 4) / 3 for n in range(25)], 5.5, 3.25))


BEHAVIOURS = {
    "pillow.decode.jpeg": golden(_MODULE, "JPEG decoder", lambda: _decoded(JPEG), 4251988186),
    "pillow.decode.png": golden(_MODULE, "PNG decoder", lambda: _decoded(PNG), 3364407028),
    "pillow.resize.nearest": golden(_MODULE, "nearest resize", _nearest, 2529267695),
    **{f"pillow.resize.{name}": _resize(name, number) for name, number in _FILTERS.items()},
    "pillow.crop": golden(_MODULE, "crop", _crops, 1576422467),
    "pillow.transpose": golden(_MODULE, "transpose", _transposes, 4288592668),
    "pillow.expand": golden(_MODULE, "ImageOps.expand", _expansions, 3153291481),
    "pillow.luma": golden(_MODULE, "conversion between RGB and grey", _lumas, 268333611),
    "pillow.brightness": golden(_MODULE, "ImageEnhance.Brightness", lambda: _enhanced("Brightness"), 3318571207),
    "pillow.contrast": golden(_MODULE, "ImageEnhance.Contrast", lambda: _enhanced("Contrast"), 4210512206),
    "pillow.saturation": golden(_MODULE, "ImageEnhance.Color", lambda: _enhanced("Color"), 3443813579),
    "pillow.sharpness": golden(_MODULE, "ImageEnhance.Sharpness", lambda: _enhanced("Sharpness"), 480363605),
    "pillow.hue": golden(_MODULE, "conversion between RGB and HSV", _hues, 4006967071),
    "pillow.autocontrast": golden(_MODULE, "ImageOps.autocontrast", lambda: _levels("autocontrast"), 1500638130),
    "pillow.equalize": golden(_MODULE, "ImageOps.equalize", lambda: _levels("equalize"), 2335762658),
    "pillow.affine.nearest": _transform("affine", 0, _AFFINE, "nearest", 0, 4281395531),
    "pillow.affine.bilinear": _transform("affine", 0, _AFFINE, "bilinear", 2, 3294058425),
    "pillow.affine.bicubic": _transform("affine", 0, _AFFINE, "bicubic", 3, 4091159132),
    "pillow.perspective.nearest": _transform("perspective", 2, _PERSPECTIVE, "nearest", 0, 1164575639),
    "pillow.perspective.bilinear": _transform("perspective", 2, _PERSPECTIVE, "bilinear", 2, 3115546372),
    "pillow.perspective.bicubic": _transform("perspective", 2, _PERSPECTIVE, "bicubic", 3, 2196345391),
    "pillow.blur": golden(_MODULE, "Gaussian and box blur", _blurs, 843270387),
    "pillow.kernel": golden(_MODULE, "ImageFilter.Kernel", _kernels, 3725880958),
}
