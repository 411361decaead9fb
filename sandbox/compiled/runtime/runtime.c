// Runtime of the fast tier: objects in linear memory, bump allocation, collection between calls.
// Anything that CPython would answer with an exception, or that is outside the subset, ends in deopt().
typedef unsigned char u8; typedef unsigned int u32; typedef int i32; typedef long long i64; typedef unsigned long long u64;
typedef double f64; typedef u64 V;
#define EX(name) __attribute__((export_name(#name)))
#define NOINL __attribute__((noinline))
#define INL static inline __attribute__((always_inline))
enum {K_NONE=0,K_LIST=1,K_TUPLE=2,K_STR=3,K_FLOAT=4,K_DICT=5,K_SET=6,K_FUNC=7,K_CELL=8,K_RANGE=9,K_ITER=10,K_BUF=11,K_FWD=12,K_SUM=13,K_VIEW=14};
#define NONE 3ull
#define FALSE_ 11ull
#define TRUE_ 19ull
#define UNDEF 27ull
#define END 35ull
typedef struct {u32 kind,len,items,aux;} Obj;           // LIST: aux=cap. TUPLE/STR: aux=hash.
typedef struct {u32 kind,pad; f64 f;} Flt;
typedef struct {u32 kind,pad; V v;} Cell;
typedef struct {u32 kind,len,entries,used,cap,index,mask,version;} Dict; // SET too
typedef struct {V k,v; u32 hash,pad;} Ent;
typedef struct {u32 kind,ncells,fidx,nparams; V defaults; V cells[];} Func;
typedef struct {u32 kind,pad; i64 start,stop,step;} Range;
typedef struct {u32 kind,sub; V src; i64 idx; i64 a,b; u32 n,ver;} Iter; // ZIP: src = tuple of iters
typedef struct {u32 kind,pad; f64 hi,lo;} Sum;
typedef struct {u32 kind,sub; V dict;} View;
enum {D_TYPE=1,D_OVERFLOW,D_INDEX,D_KEY,D_UNBOUND,D_VALUE,D_ZERO,D_MEMORY,D_GAS,D_RECURSION,D_UNSUP,D_BADVALUE,D_NAN,D_MUTATED};
typedef struct {u32 deopt,hp,young; u32 end,nlog; u64 seed; u32 seeded,mti; u32 nroots,roots; u32 limit,gcs,promoted,maxlive; u32 old;} Globals;
Globals G;
__attribute__((address_space(1))) i64 gas_left;
__attribute__((address_space(1))) i32 depth;
__attribute__((address_space(1))) i32 reason;
u32 mt[624];
#define LOGMAX 32768
u32 glog[LOGMAX];
typedef struct {u32 kind,len,items,aux; u8 c[8];} Ch;
Ch chars[128] __attribute__((aligned(8)));
typedef struct {u32 kind,len,items,aux;} ES; ES empty_str __attribute__((aligned(8))); ES empty_tuple __attribute__((aligned(8)));

NOINL _Noreturn static void deopt(u32 code){reason=code;__builtin_trap();}
#define P(v) ((u32)(v)+7)
#define OBJ(v) ((Obj*)P(v))
INL V PTR(u32 a){return (V)(u32)(a-7);}
INL int isint(V v){return !(v&1);}
INL int isptr(V v){return (v&7)==1;}
INL u32 kindof(V v){return isptr(v)?OBJ(v)->kind:K_NONE;}
INL i64 I(V v){return (i64)v>>1;}
INL V mkint(i64 i){ if(__builtin_expect(i>(1ll<<62)-1||i<-((1ll<<62)-1),0))deopt(D_OVERFLOW); return (V)i<<1;}
INL V mkbool(int b){return b?TRUE_:FALSE_;}
INL int asint(V v,i64*o){ if(isint(v)){*o=I(v);return 1;} if(v==TRUE_){*o=1;return 1;} if(v==FALSE_){*o=0;return 1;} return 0;}
INL void gas(u32 n){ gas_left-=n; if(gas_left<0)deopt(D_GAS);}
NOINL static void grow(u32 need){
  if(need>G.limit)deopt(D_MEMORY);
  u32 pages=(need-G.end+65535)/65536; if(pages<16)pages=16;
  if(G.end+pages*65536ull>G.limit)pages=(G.limit-G.end)/65536;
  if(__builtin_wasm_memory_grow(0,pages)==(u32)-1)deopt(D_MEMORY);
  G.end=__builtin_wasm_memory_size(0)*65536;
  if(need>G.end)deopt(D_MEMORY);
}
INL u32 alloc(u32 size){ size=(size+7)&~7u; u32 a=G.hp,n=a+size; if(__builtin_expect(n>G.end,0))grow(n); G.hp=n; return a;}
INL u32 buf(u32 bytes){ u32 a=alloc(bytes+8); ((u32*)a)[0]=K_BUF;((u32*)a)[1]=(bytes+7)&~7u; return a+8;}
#define ITEMS(o) ((V*)((o)->items))
// ---- barrier
INL int young(u32 a){return a>=G.young;}
NOINL static void logadd(u32 e){ if(G.nlog<LOGMAX)glog[G.nlog]=e; G.nlog++; }
INL void barrier_slot(u32 obj,V*slot,V v){ if(!young(obj)&&isptr(v)&&young(P(v)))logadd((u32)slot); }
INL void barrier_obj(u32 obj){ if(!young(obj))logadd(obj|1); }
// ---- constructors
EX(rt_float) V rt_float(f64 f){ u32 a=alloc(16); Flt*o=(Flt*)a; o->kind=K_FLOAT;o->pad=0;o->f=f; return PTR(a);}
EX(rt_list) V rt_list(u32 n,u32 cap){ u32 a=alloc(16); Obj*o=(Obj*)a; o->kind=K_LIST;o->len=n;o->aux=cap;o->items=buf(cap*8); return PTR(a);}
EX(rt_tuple) V rt_tuple(u32 n){ if(!n)return PTR((u32)&empty_tuple); u32 a=alloc(16+n*8); Obj*o=(Obj*)a;o->kind=K_TUPLE;o->len=n;o->items=a+16;o->aux=0; return PTR(a);}
EX(rt_items) u32 rt_items(V v){return OBJ(v)->items;}
static V str_new(u32 n){ u32 a=alloc(16+n); Obj*o=(Obj*)a;o->kind=K_STR;o->len=n;o->items=a+16;o->aux=0;return PTR(a);}
INL V chr_(u8 c){return PTR((u32)&chars[c&127]);}
EX(rt_cell) V rt_cell(V v){u32 a=alloc(16);Cell*c=(Cell*)a;c->kind=K_CELL;c->pad=0;c->v=v;return PTR(a);}
EX(rt_cell_set) void rt_cell_set(V c,V v){Cell*x=(Cell*)P(c);x->v=v;barrier_slot((u32)x,&x->v,v);}
EX(rt_func) V rt_func(u32 fidx,u32 nparams,V defaults,u32 ncells){u32 a=alloc(24+8*ncells);Func*f=(Func*)a;f->kind=K_FUNC;f->ncells=ncells;f->fidx=fidx;f->nparams=nparams;f->defaults=defaults;return PTR(a);}
EX(rt_range) V rt_range(V a,V b,V s){ i64 x,y,z; if(!asint(a,&x)||!asint(b,&y)||!asint(s,&z))deopt(D_TYPE); if(!z)deopt(D_VALUE); u32 p=alloc(32);Range*r=(Range*)p;r->kind=K_RANGE;r->pad=0;r->start=x;r->stop=y;r->step=z;return PTR(p);}
INL i64 range_len(Range*r){ if(r->step>0)return r->stop>r->start?(r->stop-r->start-1)/r->step+1:0; return r->stop<r->start?(r->start-r->stop-1)/(-r->step)+1:0;}
EX(rt_append) void rt_append(V l,V v){
  Obj*o=OBJ(l);
  if(__builtin_expect(o->len==o->aux,0)){
    u32 nc=o->aux<4?4:o->aux*2;
    if(o->items+o->aux*8==G.hp && young(o->items)){ u32 extra=(nc-o->aux)*8; alloc(extra); ((u32*)o->items)[-1]=nc*8; }
    else { u32 n=buf(nc*8); __builtin_memcpy((void*)n,(void*)o->items,o->len*8); gas(o->len/4); o->items=n; barrier_obj((u32)o);}
    o->aux=nc;
  }
  V*s=ITEMS(o)+o->len++; *s=v; barrier_slot((u32)o,s,v);
}
// ---- numbers
INL int asf(V v,f64*f){ i64 i; if(asint(v,&i)){ if(i>(1ll<<53)||i<-(1ll<<53))deopt(D_OVERFLOW); *f=(f64)i;return 1;} if(kindof(v)==K_FLOAT){*f=((Flt*)P(v))->f;return 1;} return 0;}
INL int isnum(V v){return isint(v)||v==TRUE_||v==FALSE_||kindof(v)==K_FLOAT;}
static V concat(V a,V b,u32 k){
  Obj*x=OBJ(a),*y=OBJ(b);
  if(k==K_STR){V r=str_new(x->len+y->len);Obj*o=OBJ(r);__builtin_memcpy((void*)o->items,(void*)x->items,x->len);__builtin_memcpy((void*)(o->items+x->len),(void*)y->items,y->len);gas((x->len+y->len)/8);if(o->len==1)return chr_(*(u8*)o->items);return r;}
  V r; if(k==K_LIST)r=rt_list(x->len+y->len,x->len+y->len); else {if(!x->len)return b; if(!y->len)return a; r=rt_tuple(x->len+y->len);}
  Obj*o=OBJ(r);V*d=ITEMS(o);V*s=ITEMS(x);for(u32 i=0;i<x->len;i++)d[i]=s[i];d+=x->len;s=ITEMS(y);for(u32 i=0;i<y->len;i++)d[i]=s[i];gas((x->len+y->len)/4);return r;
}
EX(rt_add) V rt_add(V a,V b){
  i64 x,y; if(asint(a,&x)&&asint(b,&y))return mkint(x+y);
  u32 k=kindof(a); if(k&&k==kindof(b)&&(k==K_LIST||k==K_TUPLE||k==K_STR))return concat(a,b,k);
  f64 f,g; if(isnum(a)&&isnum(b)&&asf(a,&f)&&asf(b,&g))return rt_float(f+g);
  deopt(D_TYPE);
}
EX(rt_sub) V rt_sub(V a,V b){ i64 x,y; if(asint(a,&x)&&asint(b,&y))return mkint(x-y); f64 f,g; if(isnum(a)&&isnum(b)&&asf(a,&f)&&asf(b,&g))return rt_float(f-g); deopt(D_TYPE);}
static V repeat(V s,i64 n){
  Obj*o=OBJ(s); if(n<0)n=0; i64 t=(i64)o->len*n; if(t>(1<<24))deopt(D_MEMORY); gas(t/4);
  if(o->kind==K_STR){V r=str_new(t);u8*d=(u8*)OBJ(r)->items;for(i64 i=0;i<n;i++)__builtin_memcpy(d+i*o->len,(void*)o->items,o->len);if(t==1)return chr_(*d);return r;}
  if(o->kind==K_TUPLE&&n==1)return s;
  V r=o->kind==K_LIST?rt_list(t,t):rt_tuple(t); V*d=ITEMS(OBJ(r)),*q=ITEMS(o); for(i64 i=0;i<n;i++)for(u32 j=0;j<o->len;j++)*d++=q[j]; return r;
}
EX(rt_mul) V rt_mul(V a,V b){
  i64 x,y; int ia=asint(a,&x),ib=asint(b,&y);
  if(ia&&ib){ i64 r; if(__builtin_mul_overflow(x,y,&r))deopt(D_OVERFLOW); return mkint(r);}
  u32 k=kindof(a); if(ib&&(k==K_LIST||k==K_TUPLE||k==K_STR))return repeat(a,y);
  k=kindof(b); if(ia&&(k==K_LIST||k==K_TUPLE||k==K_STR))return repeat(b,x);
  f64 f,g; if(isnum(a)&&isnum(b)&&asf(a,&f)&&asf(b,&g))return rt_float(f*g); deopt(D_TYPE);
}
EX(rt_div) V rt_div(V a,V b){ f64 f,g; if(!isnum(a)||!isnum(b))deopt(D_TYPE); asf(a,&f);asf(b,&g); if(g==0)deopt(D_ZERO); return rt_float(f/g);}
double fmod(double,double); double floor(double); double pow(double,double);
EX(rt_floordiv) V rt_floordiv(V a,V b){ i64 x,y; if(asint(a,&x)&&asint(b,&y)){ if(!y)deopt(D_ZERO); i64 q=x/y; if((x%y!=0)&&((x<0)!=(y<0)))q--; return mkint(q);}
  f64 f,g; if(!isnum(a)||!isnum(b))deopt(D_TYPE); asf(a,&f);asf(b,&g); if(g==0)deopt(D_ZERO);
  f64 m=fmod(f,g),d=(f-m)/g; if(m){ if((g<0)!=(m<0)){m+=g;d-=1.0;} } f64 fl; if(d){fl=floor(d); if(d-fl>0.5)fl+=1.0;} else fl=__builtin_copysign(0.0,f/g); return rt_float(fl);}
EX(rt_mod) V rt_mod(V a,V b){ i64 x,y; if(asint(a,&x)&&asint(b,&y)){ if(!y)deopt(D_ZERO); i64 r=x%y; if(r&&((r<0)!=(y<0)))r+=y; return mkint(r);}
  f64 f,g; if(!isnum(a)||!isnum(b))deopt(D_TYPE); asf(a,&f);asf(b,&g); if(g==0)deopt(D_ZERO);
  f64 m=fmod(f,g); if(m){ if((g<0)!=(m<0))m+=g; } else m=__builtin_copysign(0.0,g); return rt_float(m);}
EX(rt_pow) V rt_pow(V a,V b){ i64 x,y; if(asint(a,&x)&&asint(b,&y)){
    if(y>=0){ i64 r=1; while(y){ if(y&1){ if(__builtin_mul_overflow(r,x,&r))deopt(D_OVERFLOW);} y>>=1; if(y&&__builtin_mul_overflow(x,x,&x))deopt(D_OVERFLOW);} return mkint(r);} 
    if(x==0)deopt(D_ZERO);
  }
  f64 f,g; if(!isnum(a)||!isnum(b))deopt(D_TYPE); asf(a,&f);asf(b,&g);
  if(f!=f||g!=g||__builtin_isinf(f)||__builtin_isinf(g)||(f==0&&g<=0)||(f<0&&floor(g)!=g))deopt(D_UNSUP); // corner cases left to CPython
  f64 r=pow(f,g); if(__builtin_isinf(r))deopt(D_OVERFLOW); return rt_float(r);}
EX(rt_neg) V rt_neg(V a){ i64 x; if(asint(a,&x))return mkint(-x); if(kindof(a)==K_FLOAT)return rt_float(-((Flt*)P(a))->f); deopt(D_TYPE);}
EX(rt_pos) V rt_pos(V a){ i64 x; if(asint(a,&x))return mkint(x); if(kindof(a)==K_FLOAT)return a; deopt(D_TYPE);}
EX(rt_invert) V rt_invert(V a){ i64 x; if(asint(a,&x))return mkint(~x); deopt(D_TYPE);}
INL int bothbool(V a,V b){return (a==TRUE_||a==FALSE_)&&(b==TRUE_||b==FALSE_);}
EX(rt_and) V rt_and(V a,V b){ if(bothbool(a,b))return mkbool(a==TRUE_&&b==TRUE_); i64 x,y; if(asint(a,&x)&&asint(b,&y))return mkint(x&y); deopt(D_TYPE);}
EX(rt_or) V rt_or(V a,V b){ if(bothbool(a,b))return mkbool(a==TRUE_||b==TRUE_); i64 x,y; if(asint(a,&x)&&asint(b,&y))return mkint(x|y); deopt(D_TYPE);}
EX(rt_xor) V rt_xor(V a,V b){ if(bothbool(a,b))return mkbool(a!=b); i64 x,y; if(asint(a,&x)&&asint(b,&y))return mkint(x^y); deopt(D_TYPE);}
EX(rt_shl) V rt_shl(V a,V b){ i64 x,y; if(asint(a,&x)&&asint(b,&y)){ if(y<0)deopt(D_VALUE); if(!x)return 0; if(y>61)deopt(D_OVERFLOW); i64 r=(i64)((u64)x<<y); if((r>>y)!=x)deopt(D_OVERFLOW); return mkint(r);} deopt(D_TYPE);}
EX(rt_shr) V rt_shr(V a,V b){ i64 x,y; if(asint(a,&x)&&asint(b,&y)){ if(y<0)deopt(D_VALUE); return mkint(y>63?(x<0?-1:0):x>>y);} deopt(D_TYPE);}
EX(rt_abs) V rt_abs(V a){ i64 x; if(asint(a,&x))return mkint(x<0?-x:x); if(kindof(a)==K_FLOAT)return rt_float(__builtin_fabs(((Flt*)P(a))->f)); deopt(D_TYPE);}
// ---- truth, comparison
EX(rt_truth) i32 rt_truth(V v){ if(isint(v))return v!=0; if(v==TRUE_)return 1; if(v==FALSE_||v==NONE)return 0; if(!isptr(v))deopt(D_UNBOUND);
  Obj*o=OBJ(v); switch(o->kind){case K_LIST:case K_TUPLE:case K_STR:case K_DICT:case K_SET:return o->len!=0; case K_FLOAT:return ((Flt*)o)->f!=0; case K_FUNC:return 1; case K_RANGE:return range_len((Range*)o)!=0; case K_ITER:return 1;} deopt(D_UNSUP);}
static int numcmp(V a,V b,int*out){ // -1,0,1, 2=unordered
  i64 x,y; int ia=asint(a,&x),ib=asint(b,&y); if(ia&&ib){*out=x<y?-1:x>y;return 1;}
  u32 ka=kindof(a),kb=kindof(b); if((ia||ka==K_FLOAT)&&(ib||kb==K_FLOAT)){
    f64 f,g; if(ka==K_FLOAT){f=((Flt*)P(a))->f;} if(kb==K_FLOAT){g=((Flt*)P(b))->f;}
    if(ia){ if(__builtin_isinf(g)||g!=g)f=0; else asf(a,&f);} if(ib){ if(__builtin_isinf(f)||f!=f)g=0; else asf(b,&g);} 
    *out=f<g?-1:f>g?1:f==g?0:2; return 1;}
  return 0;}
static int eqv(V a,V b,int d);
INL int eqb(V a,V b,int d){return a==b||eqv(a,b,d);}
static int dict_eq(V a,V b,int d);
NOINL static int eqv(V a,V b,int d){
  if(isint(a)&&isint(b))return a==b;
  u32 k=kindof(a); if(!k||k==K_FLOAT||k!=kindof(b)){int c; return numcmp(a,b,&c)?c==0:a==b;}
  Obj*x=OBJ(a),*y=OBJ(b);
  switch(k){
    case K_STR: if(x->len!=y->len)return 0; if(x==y)return 1; return !__builtin_memcmp((void*)x->items,(void*)y->items,x->len);
    case K_LIST: case K_TUPLE: if(x->len!=y->len)return 0; if(d>40)deopt(D_RECURSION); gas(x->len/4+1); {V*p=ITEMS(x),*q=ITEMS(y);for(u32 i=0;i<x->len;i++)if(!eqb(p[i],q[i],d+1))return 0;} return 1;
    case K_DICT: case K_SET: if(x->len!=y->len)return 0; return dict_eq(a,b,d+1);
    case K_RANGE: deopt(D_UNSUP);
    default: return a==b;
  }
}
EX(rt_eq) i32 rt_eq(V a,V b){ if(isint(a)&&isint(b))return a==b; return eqv(a,b,0);}
static int lex(V a,V b,int*eq,V*p,V*q,int d){ Obj*x=OBJ(a),*y=OBJ(b);u32 n=x->len<y->len?x->len:y->len; gas(n/4+1); for(u32 i=0;i<n;i++)if(!eqb(ITEMS(x)[i],ITEMS(y)[i],d)){*p=ITEMS(x)[i];*q=ITEMS(y)[i];return 1;} *eq=x->len<y->len?-1:x->len>y->len; return 0;}
static int cmpop(V a,V b,int orequal,int d){ // a<b or a<=b
  int c; if(numcmp(a,b,&c)){ return c==-1||(orequal&&c==0);} 
  u32 k=kindof(a); if(!k||k!=kindof(b))deopt(D_TYPE);
  if(k==K_STR){Obj*x=OBJ(a),*y=OBJ(b);u32 n=x->len<y->len?x->len:y->len;int r=__builtin_memcmp((void*)x->items,(void*)y->items,n); if(!r)r=x->len<y->len?-1:x->len>y->len; return r<0||(orequal&&r==0);} 
  if(k==K_LIST||k==K_TUPLE){ if(d>40)deopt(D_RECURSION); int e;V p,q; if(lex(a,b,&e,&p,&q,d+1))return cmpop(p,q,orequal,d+1); return e<0||(orequal&&e==0);} 
  deopt(D_TYPE);
}
EX(rt_lt) i32 rt_lt(V a,V b){ if(isint(a)&&isint(b))return (i64)a<(i64)b; return cmpop(a,b,0,0);}
EX(rt_le) i32 rt_le(V a,V b){ if(isint(a)&&isint(b))return (i64)a<=(i64)b; return cmpop(a,b,1,0);}
// ---- hashing, dicts
INL u32 mix(u64 x){x^=x>>32;x*=0x9E3779B97F4A7C15ull;x^=x>>29;return (u32)x|1;}
static u32 hashv(V v,int d){
  i64 i; if(isint(v))return mix((u64)I(v)); if(asint(v,&i))return mix((u64)i);
  if(v==NONE)return 7;
  switch(kindof(v)){
    case K_STR:{Obj*o=OBJ(v); if(o->aux)return o->aux; u32 h=2166136261u; u8*p=(u8*)o->items; for(u32 k=0;k<o->len;k++)h=(h^p[k])*16777619u; h|=1; o->aux=h; gas(o->len/8); return h;}
    case K_TUPLE:{Obj*o=OBJ(v); if(o->aux)return o->aux; if(d>40)deopt(D_RECURSION); u32 h=0x345678; V*p=ITEMS(o); for(u32 k=0;k<o->len;k++){V x=p[k]; u32 e=isint(x)?mix((u64)I(x)):hashv(x,d+1); h=(h^e)*0x85ebca6bu; h^=h>>15;} h|=1; if(o->len)o->aux=h; gas(o->len/4+1); return h;}
    case K_FLOAT:{f64 f=((Flt*)P(v))->f; if(f!=f)deopt(D_NAN); i64 n; if(f>-9e15&&f<9e15&&(f64)(n=(i64)f)==f)return mix((u64)n); if(f>=9e15||f<=-9e15)deopt(D_UNSUP); u64 b;__builtin_memcpy(&b,&f,8);return mix(b);} 
  }
  deopt(D_TYPE);
}
static V dict_new(u32 kind,u32 n){ u32 cap=8;while(cap*2<n*3)cap*=2; u32 a=alloc(32);Dict*d=(Dict*)a;d->kind=kind;d->len=d->used=0;d->cap=cap*2/3+1;d->version=0;
  d->entries=buf(d->cap*24); d->index=buf(cap*4); d->mask=cap-1; __builtin_memset((void*)d->index,0,cap*4); return PTR(a);}
EX(rt_dict) V rt_dict(u32 n){return dict_new(K_DICT,n);}
EX(rt_set) V rt_set(u32 n){return dict_new(K_SET,n);}
#define TOMB 0xffffffffu
INL Ent* ents(Dict*d){return (Ent*)d->entries;}
static Ent* dict_find(Dict*d,V k,u32 h){ u32*ix=(u32*)d->index; u32 i=h&d->mask; for(;;){ u32 e=ix[i]; if(!e)return 0; if(e!=TOMB){Ent*x=ents(d)+e-1; if(x->hash==h&&eqb(x->k,k,0))return x;} i=(i+1)&d->mask; }}
static void dict_resize(Dict*d){
  u32 cap=8; while(cap*2<(d->len+1)*4)cap*=2; u32 ncap=cap*2/3+1; u32 ne=buf(ncap*24),ni=buf(cap*4); __builtin_memset((void*)ni,0,cap*4); gas(d->used);
  Ent*o=ents(d),*n=(Ent*)ne;u32 j=0;u32*ix=(u32*)ni; for(u32 i=0;i<d->used;i++)if(o[i].k!=UNDEF){n[j]=o[i];u32 p=o[i].hash&(cap-1);while(ix[p])p=(p+1)&(cap-1);ix[p]=++j;}
  d->entries=ne;d->index=ni;d->used=j;d->cap=ncap;d->mask=cap-1; barrier_obj((u32)d);
}
static void dict_put(Dict*d,V k,V v,u32 h){
  Ent*e=dict_find(d,k,h); if(e){e->v=v;barrier_slot((u32)d,&e->v,v);return;}
  if(d->used==d->cap)dict_resize(d);
  e=ents(d)+d->used++; e->k=k;e->v=v;e->hash=h;e->pad=0; u32*ix=(u32*)d->index;u32 i=h&d->mask; while(ix[i]&&ix[i]!=TOMB)i=(i+1)&d->mask; ix[i]=d->used; d->len++; d->version++;
  barrier_slot((u32)d,&e->k,k);barrier_slot((u32)d,&e->v,v);
}
static int dict_del(Dict*d,V k,V*out){ u32 h=hashv(k,0); Ent*x=dict_find(d,k,h); if(!x)return 0; if(out)*out=x->v; u32 n=x-ents(d)+1; u32*ix=(u32*)d->index;u32 i=h&d->mask; while(ix[i]!=n)i=(i+1)&d->mask; ix[i]=TOMB; x->k=UNDEF;x->v=NONE; d->len--; d->version++; return 1;}
EX(rt_dict_set) void rt_dict_set(V d,V k,V v){dict_put((Dict*)P(d),k,v,hashv(k,0));}
EX(rt_set_add) void rt_set_add(V s,V k){ Dict*d=(Dict*)P(s); u32 h=hashv(k,0); if(!dict_find(d,k,h))dict_put(d,k,NONE,h);}
static int dict_eq(V a,V b,int dd){ Dict*x=(Dict*)P(a),*y=(Dict*)P(b); if(dd>40)deopt(D_RECURSION); gas(x->used); for(u32 i=0;i<x->used;i++){Ent*e=ents(x)+i; if(e->k==UNDEF)continue; Ent*f=dict_find(y,e->k,e->hash); if(!f||!eqb(e->v,f->v,dd))return 0;} return 1;}
EX(rt_contains) i32 rt_contains(V c,V x){
  switch(kindof(c)){
    case K_STR:{ if(kindof(x)!=K_STR)deopt(D_TYPE); Obj*o=OBJ(c),*s=OBJ(x); if(s->len==1){u8 ch=*(u8*)s->items;u8*p=(u8*)o->items;for(u32 i=0;i<o->len;i++)if(p[i]==ch)return 1;return 0;} if(s->len==0)return 1; gas(o->len); u32 cc=1+s->len/8; for(u32 i=0;i+s->len<=o->len;i++)if(gas(cc),!__builtin_memcmp((void*)(o->items+i),(void*)s->items,s->len))return 1; return 0;}
    case K_LIST: case K_TUPLE:{Obj*o=OBJ(c); gas(o->len/4); for(u32 i=0;i<o->len;i++)if(eqb(ITEMS(o)[i],x,0))return 1; return 0;}
    case K_DICT: case K_SET: return dict_find((Dict*)P(c),x,hashv(x,0))!=0;
    case K_RANGE:{i64 i; if(!asint(x,&i))deopt(D_UNSUP); Range*r=(Range*)P(c); if(r->step>0)return i>=r->start&&i<r->stop&&(i-r->start)%r->step==0; return i<=r->start&&i>r->stop&&(r->start-i)%(-r->step)==0;}
  } deopt(D_UNSUP);
}
// ---- subscripts
EX(rt_getitem) V rt_getitem(V o,V k){
  u32 kd=kindof(o); i64 i;
  if(kd==K_LIST||kd==K_TUPLE){ if(!asint(k,&i))deopt(D_TYPE); Obj*x=OBJ(o); if(i<0)i+=x->len; if((u64)i>=x->len)deopt(D_INDEX); return ITEMS(x)[i];}
  if(kd==K_DICT){ Ent*e=dict_find((Dict*)P(o),k,hashv(k,0)); if(!e)deopt(D_KEY); return e->v;}
  if(kd==K_STR){ if(!asint(k,&i))deopt(D_TYPE); Obj*x=OBJ(o); if(i<0)i+=x->len; if((u64)i>=x->len)deopt(D_INDEX); return chr_(((u8*)x->items)[i]);}
  if(kd==K_RANGE){ if(!asint(k,&i))deopt(D_TYPE); Range*r=(Range*)P(o); i64 n=range_len(r); if(i<0)i+=n; if(i<0||i>=n)deopt(D_INDEX); return mkint(r->start+i*r->step);}
  deopt(D_TYPE);
}
EX(rt_getitem_try) V rt_getitem_try(V o,V k){ if(kindof(o)==K_DICT){ Ent*e=dict_find((Dict*)P(o),k,hashv(k,0)); return e?e->v:END; } return rt_getitem(o,k); }
EX(rt_setitem) void rt_setitem(V o,V k,V v){
  u32 kd=kindof(o); i64 i;
  if(kd==K_LIST){ if(!asint(k,&i))deopt(D_TYPE); Obj*x=OBJ(o); if(i<0)i+=x->len; if((u64)i>=x->len)deopt(D_INDEX); V*s=ITEMS(x)+i; *s=v; barrier_slot((u32)x,s,v); return;}
  if(kd==K_DICT){dict_put((Dict*)P(o),k,v,hashv(k,0));return;}
  deopt(D_TYPE);
}
static V list_pop(Obj*x,i64 i){ if(i<0)i+=x->len; if((u64)i>=x->len)deopt(D_INDEX); V r=ITEMS(x)[i]; V*p=ITEMS(x); u32 n=--x->len; for(u32 j=i;j<n;j++)p[j]=p[j+1]; gas((n-i)/4); if(i<n)barrier_obj((u32)x); return r;}
EX(rt_delitem) void rt_delitem(V o,V k){ u32 kd=kindof(o);i64 i; if(kd==K_LIST){ if(!asint(k,&i))deopt(D_TYPE); list_pop(OBJ(o),i); return;} if(kd==K_DICT){ if(!dict_del((Dict*)P(o),k,0))deopt(D_KEY); return;} deopt(D_TYPE);}
static i64 sidx(V v,i64 dflt){ if(v==NONE)return dflt; i64 i; if(!asint(v,&i))deopt(D_TYPE); return i;}
EX(rt_slice) V rt_slice(V o,V a,V b,V s){
  u32 kd=kindof(o); if(kd!=K_LIST&&kd!=K_TUPLE&&kd!=K_STR)deopt(D_TYPE);
  Obj*x=OBJ(o); i64 n=x->len,step=sidx(s,1); if(!step)deopt(D_VALUE); if(step>(1<<30)||step<-(1<<30))deopt(D_UNSUP);
  i64 lo=step<0?-1:0,hi=step<0?n-1:n;
  i64 st=sidx(a,step<0?hi:lo),en=sidx(b,step<0?lo:hi);
  if(a!=NONE){ if(st<0){st+=n; if(st<lo)st=lo;} else if(st>hi)st=hi; }
  if(b!=NONE){ if(en<0){en+=n; if(en<lo)en=lo;} else if(en>hi)en=hi; }
  i64 cnt=step>0?(en>st?(en-st-1)/step+1:0):(en<st?(st-en-1)/(-step)+1:0);
  gas(cnt/4);
  if(kd==K_STR){ if(cnt==n&&step==1)return o; if(cnt==0)return PTR((u32)&empty_str); if(cnt==1)return chr_(((u8*)x->items)[st]); V r=str_new(cnt);u8*d=(u8*)OBJ(r)->items,*q=(u8*)x->items;for(i64 i=0;i<cnt;i++,st+=step)d[i]=q[st];return r;}
  if(kd==K_TUPLE&&cnt==n&&step==1)return o;
  V r=kd==K_LIST?rt_list(cnt,cnt):rt_tuple(cnt); V*d=ITEMS(OBJ(r)),*q=ITEMS(x); for(i64 i=0;i<cnt;i++,st+=step)d[i]=q[st]; return r;
}
EX(rt_len) V rt_len(V o){ switch(kindof(o)){case K_LIST:case K_TUPLE:case K_STR:case K_DICT:case K_SET:return (V)OBJ(o)->len<<1; case K_RANGE:return mkint(range_len((Range*)P(o))); case K_VIEW: return (V)OBJ(((View*)P(o))->dict)->len<<1;} deopt(D_TYPE);}
// ---- iteration
enum {S_SEQ,S_STR,S_DICT,S_RANGE,S_ZIP,S_ENUM,S_REV,S_VALUES,S_ITEMS,S_RREV};
static V iter_new(u32 sub,V src){u32 a=alloc(sizeof(Iter));Iter*t=(Iter*)a;t->kind=K_ITER;t->sub=sub;t->src=src;t->idx=0;t->a=t->b=0;t->n=0;t->ver=0;return PTR(a);}
EX(rt_iter) V rt_iter(V o){
  switch(kindof(o)){
    case K_LIST:case K_TUPLE:return iter_new(S_SEQ,o);
    case K_STR:return iter_new(S_STR,o);
    case K_DICT:{V t=iter_new(S_DICT,o);((Iter*)P(t))->ver=((Dict*)P(o))->version;return t;}
    case K_VIEW:{View*w=(View*)P(o);V t=iter_new(w->sub,w->dict);((Iter*)P(t))->ver=((Dict*)P(w->dict))->version;return t;}
    case K_RANGE:{V t=iter_new(S_RANGE,o);Iter*x=(Iter*)P(t);Range*r=(Range*)P(o);x->idx=r->start;x->a=range_len(r);x->b=r->step;return t;}
    case K_ITER:return o;
    case K_SET: if(((Dict*)P(o))->len<=1){V t=iter_new(S_DICT,o);((Iter*)P(t))->ver=((Dict*)P(o))->version;return t;} deopt(D_UNSUP); // order of CPython's sets
  } deopt(D_TYPE);
}
EX(rt_next) V rt_next(V t){
  Iter*x=(Iter*)P(t);
  switch(x->sub){
    case S_SEQ:{Obj*o=OBJ(x->src); if(x->idx>=o->len){x->idx=1ll<<40;return END;} return ITEMS(o)[x->idx++];}
    case S_STR:{Obj*o=OBJ(x->src); if(x->idx>=o->len)return END; return chr_(((u8*)o->items)[x->idx++]);}
    case S_RANGE: if(x->a<=0)return END; {x->a--;V r=mkint(x->idx);x->idx+=x->b;return r;}
    case S_DICT:case S_VALUES:case S_ITEMS:{Dict*d=(Dict*)P(x->src); if(d->version!=x->ver)deopt(D_MUTATED); while(x->idx<d->used&&ents(d)[x->idx].k==UNDEF)x->idx++; if(x->idx>=d->used)return END; Ent*e=ents(d)+x->idx++; if(x->sub==S_DICT)return e->k; if(x->sub==S_VALUES)return e->v; V tp=rt_tuple(2);ITEMS(OBJ(tp))[0]=e->k;ITEMS(OBJ(tp))[1]=e->v;return tp;}
    case S_ZIP:{Obj*s=OBJ(x->src); if(!s->len)return END; V tp=rt_tuple(s->len); for(u32 i=0;i<s->len;i++){V v=rt_next(ITEMS(s)[i]); if(v==END)return END; ITEMS(OBJ(tp))[i]=v;} gas(s->len); return tp;}
    case S_ENUM:{V v=rt_next(x->src); if(v==END)return END; V tp=rt_tuple(2);ITEMS(OBJ(tp))[0]=mkint(x->idx++);ITEMS(OBJ(tp))[1]=v;return tp;}
    case S_REV:{Obj*o=OBJ(x->src); if(x->idx<0||x->idx>=o->len){x->idx=-1;return END;} V r=o->kind==K_STR?chr_(((u8*)o->items)[x->idx]):ITEMS(o)[x->idx]; x->idx--; return r;}
  } deopt(D_UNSUP);
}
EX(rt_zip) V rt_zip(V tuple){ // takes a list or tuple of iterables
  u32 k=kindof(tuple); V src=tuple; if(k!=K_LIST&&k!=K_TUPLE){ V l=rt_list(0,4); V it=rt_iter(tuple),v; while((v=rt_next(it))!=END){rt_append(l,v);gas(1);} src=l; }
  u32 n=OBJ(src)->len; V its=rt_tuple(n); for(u32 i=0;i<n;i++)ITEMS(OBJ(its))[i]=rt_iter(ITEMS(OBJ(src))[i]); return iter_new(S_ZIP,its);}
// All of a zip at once, where nothing can change the rows before it is used up.
EX(rt_transpose) V rt_transpose(V v){
  u32 k=kindof(v); if(k==K_LIST||k==K_TUPLE){ Obj*o=OBJ(v); u32 n=o->len,w=~0u; V*p=ITEMS(o); int ok=n>0; for(u32 i=0;i<n&&ok;i++){u32 q=kindof(p[i]); ok=q==K_LIST||q==K_TUPLE; if(ok&&OBJ(p[i])->len<w)w=OBJ(p[i])->len;}
    if(ok){ gas(n*w/2+1); V r=rt_list(w,w); V*d=ITEMS(OBJ(r)); for(u32 c=0;c<w;c++){ V t=rt_tuple(n); V*x=ITEMS(OBJ(t)); for(u32 i=0;i<n;i++)x[i]=ITEMS(OBJ(p[i]))[c]; d[c]=t; } return r; } }
  return rt_zip(v);
}
EX(rt_zip_now) V rt_zip_now(V v){ u32 k=kindof(v); if(k==K_LIST||k==K_TUPLE){Obj*o=OBJ(v); int ok=1; for(u32 i=0;i<o->len&&ok;i++)ok=kindof(ITEMS(o)[i])==K_TUPLE; if(ok)return rt_transpose(v);} return rt_zip(v);}
EX(rt_enum) V rt_enum(V it,V start){ V t=iter_new(S_ENUM,rt_iter(it)); i64 i; if(!asint(start,&i))deopt(D_TYPE); ((Iter*)P(t))->idx=i; return t;}
EX(rt_reversed) V rt_reversed(V o){ switch(kindof(o)){case K_LIST:case K_TUPLE:case K_STR:{V t=iter_new(S_REV,o);((Iter*)P(t))->idx=(i64)OBJ(o)->len-1;return t;} case K_RANGE:{Range*r=(Range*)P(o);i64 n=range_len(r);V t=iter_new(S_RANGE,o);Iter*x=(Iter*)P(t);x->idx=r->start+(n-1)*r->step;x->a=n;x->b=-r->step;return t;}} deopt(D_UNSUP);}
EX(rt_tolist) V rt_tolist(V o){ u32 k=kindof(o); if(k==K_LIST||k==K_TUPLE){Obj*x=OBJ(o);V r=rt_list(x->len,x->len);V*d=ITEMS(OBJ(r)),*s=ITEMS(x);for(u32 i=0;i<x->len;i++)d[i]=s[i];gas(x->len/4);return r;} V l=rt_list(0,4),it=rt_iter(o),v; while((v=rt_next(it))!=END){rt_append(l,v);gas(1);} return l;}
EX(rt_totuple) V rt_totuple(V o){ if(kindof(o)==K_TUPLE)return o; if(kindof(o)!=K_LIST)o=rt_tolist(o); Obj*x=OBJ(o);V r=rt_tuple(x->len);V*d=ITEMS(OBJ(r)),*s=ITEMS(x);for(u32 i=0;i<x->len;i++)d[i]=s[i];gas(x->len/4);return r;}
EX(rt_toset) V rt_toset(V o){ V s=rt_set(0); if(kindof(o)==K_SET){Dict*d=(Dict*)P(o);for(u32 i=0;i<d->used;i++)if(ents(d)[i].k!=UNDEF)rt_set_add(s,ents(d)[i].k);gas(d->used);return s;} V it=rt_iter(o),v; while((v=rt_next(it))!=END){rt_set_add(s,v);gas(2);} return s;}
EX(rt_todict) V rt_todict(V o){ V r=rt_dict(0); if(kindof(o)==K_DICT){Dict*d=(Dict*)P(o);gas(d->used);for(u32 i=0;i<d->used;i++)if(ents(d)[i].k!=UNDEF)rt_dict_set(r,ents(d)[i].k,ents(d)[i].v);return r;} V it=rt_iter(o),v; while((v=rt_next(it))!=END){u32 k=kindof(v); if((k!=K_LIST&&k!=K_TUPLE)||OBJ(v)->len!=2)deopt(D_UNSUP); rt_dict_set(r,ITEMS(OBJ(v))[0],ITEMS(OBJ(v))[1]);gas(2);} return r;}
EX(rt_unpack) u32 rt_unpack(V v,u32 n){ u32 k=kindof(v); if(k!=K_LIST&&k!=K_TUPLE){ if(k==K_NONE)deopt(D_TYPE); v=rt_tolist(v);} if(OBJ(v)->len!=n)deopt(D_VALUE); return OBJ(v)->items;}
EX(rt_iadd) V rt_iadd(V a,V b){ if(kindof(a)==K_LIST){ if(a==b)b=rt_tolist(b); u32 k=kindof(b); if(k==K_LIST||k==K_TUPLE){u32 n=OBJ(b)->len;gas(n);for(u32 i=0;i<n;i++)rt_append(a,ITEMS(OBJ(b))[i]);} else {V it=rt_iter(b),v; while((v=rt_next(it))!=END){rt_append(a,v);gas(1);}} return a;} return rt_add(a,b);}
EX(rt_imul) V rt_imul(V a,V b){ if(kindof(a)==K_LIST)deopt(D_UNSUP); return rt_mul(a,b);}
// ---- sum
EX(rt_sum_step) V rt_sum_step(V acc,V x){
  if(kindof(acc)==K_SUM){ Sum*s=(Sum*)P(acc); i64 i; f64 f; if(asint(x,&i)){ asf(x,&f); } else if(kindof(x)==K_FLOAT)f=((Flt*)P(x))->f; else deopt(D_UNSUP);
    f64 t=s->hi+f; if(__builtin_fabs(s->hi)>=__builtin_fabs(f))s->lo+=(s->hi-t)+f; else s->lo+=(f-t)+s->hi; s->hi=t; return acc; }
  V r=rt_add(acc,x); if(kindof(r)==K_FLOAT){ u32 a=alloc(24);Sum*s=(Sum*)a;s->kind=K_SUM;s->pad=0;s->hi=((Flt*)P(r))->f;s->lo=0;return PTR(a);} return r;
}
EX(rt_sum_end) V rt_sum_end(V acc){ if(kindof(acc)==K_SUM){Sum*s=(Sum*)P(acc); f64 r=s->hi; if(s->lo&&__builtin_isfinite(s->lo))r+=s->lo; return rt_float(r);} return acc;}
// ---- methods
EX(rt_count) V rt_count(V o,V x){ u32 k=kindof(o); if(k==K_LIST||k==K_TUPLE){Obj*l=OBJ(o);u32 n=0;gas(l->len/4);for(u32 i=0;i<l->len;i++)n+=eqb(ITEMS(l)[i],x,0);return (V)n<<1;} if(k==K_STR){ if(kindof(x)!=K_STR||OBJ(x)->len!=1)deopt(D_UNSUP);u32 n=0;for(u32 i=0;i<OBJ(o)->len;i++)n+=((u8*)OBJ(o)->items)[i]==*(u8*)OBJ(x)->items;return (V)n<<1;} deopt(D_UNSUP);}
static i64 strfind(V o,V x){ if(kindof(x)!=K_STR)deopt(D_TYPE); Obj*a=OBJ(o),*b=OBJ(x); gas(a->len); u32 c=1+b->len/8; for(u32 i=0;i+b->len<=a->len;i++)if(gas(c),!__builtin_memcmp((void*)(a->items+i),(void*)b->items,b->len))return i; return -1;}
EX(rt_index) V rt_index(V o,V x){ u32 k=kindof(o); if(k==K_LIST||k==K_TUPLE){Obj*l=OBJ(o);gas(l->len/4);for(u32 i=0;i<l->len;i++)if(eqb(ITEMS(l)[i],x,0))return (V)i<<1;deopt(D_VALUE);} if(k==K_STR){i64 i=strfind(o,x);if(i<0)deopt(D_VALUE);return mkint(i);} deopt(D_UNSUP);}
EX(rt_find) V rt_find(V o,V x){ if(kindof(o)!=K_STR)deopt(D_UNSUP); return mkint(strfind(o,x));}
EX(rt_m_append) V rt_m_append(V o,V x){ u32 k=kindof(o); if(k!=K_LIST)deopt(D_UNSUP); rt_append(o,x); return NONE;}
EX(rt_m_add) V rt_m_add(V o,V x){ if(kindof(o)!=K_SET)deopt(D_UNSUP); rt_set_add(o,x); return NONE;}
EX(rt_pop0) V rt_pop0(V o){ if(kindof(o)!=K_LIST)deopt(D_UNSUP); Obj*x=OBJ(o); if(!x->len)deopt(D_INDEX); return ITEMS(x)[--x->len];}
EX(rt_pop1) V rt_pop1(V o,V i){ u32 k=kindof(o); if(k==K_LIST){i64 n; if(!asint(i,&n))deopt(D_TYPE); return list_pop(OBJ(o),n);} if(k==K_DICT){V r; if(!dict_del((Dict*)P(o),i,&r))deopt(D_KEY); return r;} deopt(D_UNSUP);}
EX(rt_pop2) V rt_pop2(V o,V i,V d){ if(kindof(o)!=K_DICT)deopt(D_UNSUP); V r; return dict_del((Dict*)P(o),i,&r)?r:d;}
EX(rt_extend2) V rt_extend2(V o,V x){ if(kindof(o)!=K_LIST)deopt(D_UNSUP); rt_iadd(o,x); return NONE;}
EX(rt_insert) V rt_insert(V o,V i,V x){ i64 n; if(kindof(o)!=K_LIST||!asint(i,&n))deopt(D_UNSUP); Obj*l=OBJ(o); if(n<0){n+=l->len;if(n<0)n=0;} if(n>l->len)n=l->len; rt_append(o,x); V*p=ITEMS(l); for(i64 j=l->len-1;j>n;j--)p[j]=p[j-1]; p[n]=x; gas((l->len-n)/4); barrier_obj((u32)l); return NONE;}
EX(rt_remove) V rt_remove(V o,V x){ u32 k=kindof(o); if(k==K_LIST){Obj*l=OBJ(o);for(u32 i=0;i<l->len;i++)if(eqb(ITEMS(l)[i],x,0)){list_pop(l,i);return NONE;} deopt(D_VALUE);} if(k==K_SET){if(!dict_del((Dict*)P(o),x,0))deopt(D_KEY);return NONE;} deopt(D_UNSUP);}
EX(rt_discard) V rt_discard(V o,V x){ if(kindof(o)!=K_SET)deopt(D_UNSUP); dict_del((Dict*)P(o),x,0); return NONE;}
EX(rt_reverse) V rt_reverse(V o){ if(kindof(o)!=K_LIST)deopt(D_UNSUP); Obj*l=OBJ(o);V*p=ITEMS(l); for(u32 i=0,j=l->len;i+1<j;){j--;V t=p[i];p[i]=p[j];p[j]=t;i++;} gas(l->len/4); barrier_obj((u32)l); return NONE;}
EX(rt_copy) V rt_copy(V o){ u32 k=kindof(o); if(k==K_LIST)return rt_tolist(o); if(k==K_DICT)return rt_todict(o); if(k==K_SET)return rt_toset(o); deopt(D_UNSUP);}
EX(rt_clear) V rt_clear(V o){ u32 k=kindof(o); if(k==K_LIST){OBJ(o)->len=0;return NONE;} if(k==K_DICT||k==K_SET){Dict*d=(Dict*)P(o);d->len=d->used=0;d->version++;__builtin_memset((void*)d->index,0,(d->mask+1)*4);gas(d->mask);return NONE;} deopt(D_UNSUP);}
EX(rt_get) V rt_get(V o,V k,V d){ if(kindof(o)!=K_DICT)deopt(D_UNSUP); Ent*e=dict_find((Dict*)P(o),k,hashv(k,0)); return e?e->v:d;}
EX(rt_setdefault) V rt_setdefault(V o,V k,V d){ if(kindof(o)!=K_DICT)deopt(D_UNSUP); u32 h=hashv(k,0); Ent*e=dict_find((Dict*)P(o),k,h); if(e)return e->v; dict_put((Dict*)P(o),k,d,h); return d;}
EX(rt_update) V rt_update(V o,V x){ if(kindof(o)!=K_DICT||kindof(x)!=K_DICT)deopt(D_UNSUP); Dict*d=(Dict*)P(x);gas(d->used);for(u32 i=0;i<d->used;i++)if(ents(d)[i].k!=UNDEF)rt_dict_set(o,ents(d)[i].k,ents(d)[i].v);return NONE;}
static V view(V o,u32 s){ if(kindof(o)!=K_DICT)deopt(D_UNSUP); u32 a=alloc(16);View*w=(View*)a;w->kind=K_VIEW;w->sub=s;w->dict=o;return PTR(a);}
EX(rt_keys) V rt_keys(V o){return view(o,S_DICT);} EX(rt_values) V rt_values(V o){return view(o,S_VALUES);} EX(rt_ditems) V rt_ditems(V o){return view(o,S_ITEMS);}
EX(rt_bit_length) V rt_bit_length(V o){ i64 x; if(!asint(o,&x))deopt(D_UNSUP); if(x<0)x=-x; return x?(V)(64-__builtin_clzll(x))<<1:0;}
EX(rt_join) V rt_join(V s,V l){ if(kindof(s)!=K_STR)deopt(D_UNSUP); l=rt_tolist(l); Obj*o=OBJ(l); if(!o->len)return PTR((u32)&empty_str); V r=ITEMS(o)[0]; if(kindof(r)!=K_STR)deopt(D_TYPE); for(u32 i=1;i<o->len;i++){ if(kindof(ITEMS(o)[i])!=K_STR)deopt(D_TYPE); r=concat(concat(r,s,K_STR),ITEMS(o)[i],K_STR);} return r;}
static V strmap(V o,int up){ if(kindof(o)!=K_STR)deopt(D_UNSUP); Obj*a=OBJ(o); V r=str_new(a->len);u8*d=(u8*)OBJ(r)->items,*s=(u8*)a->items; for(u32 i=0;i<a->len;i++){u8 c=s[i]; if(up&&c>='a'&&c<='z')c-=32; if(!up&&c>='A'&&c<='Z')c+=32; d[i]=c;} if(a->len==1)return chr_(d[0]); return r;}
EX(rt_upper) V rt_upper(V o){return strmap(o,1);} EX(rt_lower) V rt_lower(V o){return strmap(o,0);}
EX(rt_toint) V rt_toint(V o){ i64 i; if(asint(o,&i))return mkint(i); if(kindof(o)==K_FLOAT){f64 f=((Flt*)P(o))->f; if(!(f>-4e18&&f<4e18))deopt(D_OVERFLOW); return mkint((i64)f);} deopt(D_UNSUP);}
EX(rt_tofloat) V rt_tofloat(V o){ f64 f; if(kindof(o)==K_FLOAT)return o; i64 i; if(!asint(o,&i))deopt(D_UNSUP); asf(o,&f); return rt_float(f);}
EX(rt_sqrt) V rt_sqrt(V o){ f64 f; if(!isnum(o))deopt(D_TYPE); asf(o,&f); if(!(f>=0)||__builtin_isinf(f))deopt(D_VALUE); return rt_float(__builtin_sqrt(f));}
double log2(double); double log(double);
EX(rt_log2) V rt_log2(V o){ f64 f; if(!isnum(o))deopt(D_TYPE); asf(o,&f); if(!(f>0)||__builtin_isinf(f))deopt(D_VALUE); return rt_float(log2(f));}
EX(rt_log) V rt_log(V o){ f64 f; if(!isnum(o))deopt(D_TYPE); asf(o,&f); if(!(f>0)||__builtin_isinf(f))deopt(D_VALUE); return rt_float(log(f));}
EX(rt_mfloor) V rt_mfloor(V o){ i64 i; if(asint(o,&i))return mkint(i); if(kindof(o)!=K_FLOAT)deopt(D_TYPE); f64 f=floor(((Flt*)P(o))->f); if(!(f>-4e18&&f<4e18))deopt(D_OVERFLOW); return mkint((i64)f);}
static void msort(V*k,V*v,V*tk,V*tv,u32 n,int rev){ // stable; keys and values move together
  if(n<8){ for(u32 i=1;i<n;i++){V x=k[i],y=v[i];u32 j=i; while(j>0&&(rev?rt_lt(k[j-1],x):rt_lt(x,k[j-1]))){k[j]=k[j-1];v[j]=v[j-1];j--;} k[j]=x;v[j]=y;} gas(n*n/2); return;}
  u32 h=n/2; msort(k,v,tk,tv,h,rev);msort(k+h,v+h,tk,tv,n-h,rev); u32 i=0,j=h,o=0; gas(n*2);
  while(i<h&&j<n){ int right=rev?rt_lt(k[i],k[j]):rt_lt(k[j],k[i]); if(right){tk[o]=k[j];tv[o++]=v[j++];} else {tk[o]=k[i];tv[o++]=v[i++];} }
  while(i<h){tk[o]=k[i];tv[o++]=v[i++];} while(j<n){tk[o]=k[j];tv[o++]=v[j++];}
  for(u32 q=0;q<n;q++){k[q]=tk[q];v[q]=tv[q];}
}
EX(rt_sort) void rt_sort(V l,V keys,i32 rev){ // keys NONE: sort by value
  Obj*o=OBJ(l); u32 n=o->len; V*v=ITEMS(o); V kl=keys==NONE?rt_tolist(l):keys; V*k=ITEMS(OBJ(kl)); for(u32 i=0;i<n;i++)if(kindof(k[i])==K_FLOAT&&((Flt*)P(k[i]))->f!=((Flt*)P(k[i]))->f)deopt(D_NAN);
  u32 t=buf(n*16+16); msort(k,v,(V*)t,(V*)t+n,n,rev); barrier_obj((u32)o);}
EX(rt_m_sort) V rt_m_sort(V l,V keys,i32 rev){ if(kindof(l)!=K_LIST)deopt(D_UNSUP); rt_sort(l,keys,rev); return NONE;}
// ---- random: the Mersenne Twister as CPython seeds and draws from it
static void mt_seed(u64 s){ mt[0]=19650218u; for(u32 i=1;i<624;i++)mt[i]=1812433253u*(mt[i-1]^(mt[i-1]>>30))+i; u32 key[2]={(u32)s,(u32)(s>>32)}; u32 n=key[1]?2:1; u32 i=1,j=0; for(u32 k=624;k;k--){mt[i]=(mt[i]^((mt[i-1]^(mt[i-1]>>30))*1664525u))+key[j]+j;i++;j++; if(i>=624){mt[0]=mt[623];i=1;} if(j>=n)j=0;} for(u32 k=623;k;k--){mt[i]=(mt[i]^((mt[i-1]^(mt[i-1]>>30))*1566083941u))-i;i++; if(i>=624){mt[0]=mt[623];i=1;}} mt[0]=0x80000000u; G.mti=624; G.seeded=1;}
static u32 mt_next(){ if(!G.seeded)mt_seed(G.seed); if(G.mti>=624){ for(u32 k=0;k<624;k++){u32 y=(mt[k]&0x80000000u)|(mt[(k+1)%624]&0x7fffffffu); mt[k]=mt[(k+397)%624]^(y>>1)^((y&1)?0x9908b0dfu:0);} G.mti=0; gas(600);} u32 y=mt[G.mti++]; y^=y>>11;y^=(y<<7)&0x9d2c5680u;y^=(y<<15)&0xefc60000u;y^=y>>18;return y;}
static u32 below(i64 n){ if(n<=0)deopt(D_VALUE); if(n>0x7fffffff)deopt(D_UNSUP); u32 k=32-__builtin_clz((u32)n); u32 r; do{r=mt_next()>>(32-k);gas(3);}while(r>=n); return r;}
EX(rt_random) V rt_random(){ u32 a=mt_next()>>5,b=mt_next()>>6; return rt_float((a*67108864.0+b)*(1.0/9007199254740992.0));}
EX(rt_choice) V rt_choice(V s){ u32 k=kindof(s); if(k!=K_LIST&&k!=K_TUPLE&&k!=K_STR&&k!=K_RANGE)deopt(D_UNSUP); i64 n=I(rt_len(s)); if(!n)deopt(D_INDEX); return rt_getitem(s,mkint(below(n)));}
EX(rt_randint) V rt_randint(V a,V b){ i64 x,y; if(!asint(a,&x)||!asint(b,&y))deopt(D_TYPE); return mkint(x+below(y-x+1));}
EX(rt_shuffle) V rt_shuffle(V l){ if(kindof(l)!=K_LIST)deopt(D_UNSUP); Obj*o=OBJ(l);V*p=ITEMS(o); for(i64 i=(i64)o->len-1;i>=1;i--){u32 j=below(i+1);V t=p[i];p[i]=p[j];p[j]=t;} barrier_obj((u32)o); return NONE;}
// ---- collection: between calls no value lives outside globals, so survivors are what old slots point to.
// Young objects lie from NURSERY on, old ones below; survivors move down, once.
#define NURSERY (18u<<20)
static u32 osize(Obj*o){ switch(o->kind){case K_LIST:case K_FLOAT:case K_CELL:case K_VIEW:return 16; case K_TUPLE:return 16+o->len*8; case K_STR:return (16+o->len+7)&~7u; case K_DICT:case K_SET:return 32; case K_FUNC:return 24+8*((Func*)o)->ncells; case K_RANGE:return 32; case K_ITER:return sizeof(Iter); case K_BUF:return 8+o->len; case K_SUM:return 24;} deopt(D_UNSUP);}
static u32 old_alloc(u32 src,u32 n){ n=(n+7)&~7u; u32 a=G.old; if(a+n>NURSERY)deopt(D_MEMORY); G.old=a+n; __builtin_memcpy((void*)a,(void*)src,n); return a;}
NOINL static V evac(V v){ if(!isptr(v)||!young(P(v)))return v; Obj*o=OBJ(v); if(o->kind==K_FWD)return PTR(o->len); u32 a=old_alloc((u32)o,osize(o)); Obj*c=(Obj*)a; if(c->kind==K_TUPLE||c->kind==K_STR)c->items=a+16; o->kind=K_FWD;o->len=a; return PTR(a);}
static u32 evac_buf(u32 b){ if(!young(b))return b; return old_alloc(b-8,((u32*)b)[-1]+8)+8; }
static void scan(Obj*o){
  switch(o->kind){
    case K_LIST: o->items=evac_buf(o->items); {V*p=ITEMS(o);for(u32 i=0;i<o->len;i++)p[i]=evac(p[i]);} break;
    case K_TUPLE:{V*p=(V*)(o+1);for(u32 i=0;i<o->len;i++)p[i]=evac(p[i]);break;}
    case K_CELL:((Cell*)o)->v=evac(((Cell*)o)->v);break;
    case K_DICT:case K_SET:{Dict*d=(Dict*)o; d->entries=evac_buf(d->entries); d->index=evac_buf(d->index); Ent*e=ents(d); for(u32 i=0;i<d->used;i++){e[i].k=evac(e[i].k);e[i].v=evac(e[i].v);} break;}
    case K_FUNC:{Func*f=(Func*)o;f->defaults=evac(f->defaults);for(u32 i=0;i<f->ncells;i++)f->cells[i]=evac(f->cells[i]);break;}
    case K_ITER:((Iter*)o)->src=evac(((Iter*)o)->src);break;
    case K_VIEW:((View*)o)->dict=evac(((View*)o)->dict);break;
  }
}
EX(rt_end_call) void rt_end_call(){
  V*roots=(V*)G.roots; u32 sc=G.old; if(G.hp>G.maxlive)G.maxlive=G.hp;
  for(u32 i=0;i<G.nroots;i++)roots[i]=evac(roots[i]);
  if(G.nlog>LOGMAX)deopt(D_MEMORY);
  for(u32 i=0;i<G.nlog;i++){u32 e=glog[i]; if(e&1)scan((Obj*)(e&~1u)); else *(V*)e=evac(*(V*)e);}
  if(G.old!=sc)G.gcs++;
  while(sc<G.old){Obj*o=(Obj*)sc; u32 n=(osize(o)+7)&~7u; if(o->kind!=K_BUF)scan(o); sc+=n;}
  G.promoted=G.old; G.hp=G.young; G.nlog=0;
}
// ---- entry
EX(rt_init) void rt_init(u32 heap,u32 roots,u32 nroots,u32 limit,u64 seed){
  for(u32 c=0;c<128;c++){Ch*o=&chars[c];o->kind=K_STR;o->len=1;o->items=(u32)o->c;o->aux=0;o->c[0]=c;}
  empty_str.kind=K_STR;empty_str.items=(u32)&empty_str; empty_tuple.kind=K_TUPLE;empty_tuple.items=(u32)&empty_tuple;
  G.roots=roots;G.nroots=nroots;G.limit=limit;G.old=heap;G.hp=NURSERY;G.young=NURSERY;G.seed=seed;G.end=__builtin_wasm_memory_size(0)*65536; V*r=(V*)roots; for(u32 i=0;i<nroots;i++)r[i]=UNDEF; }
EX(rt_begin) void rt_begin(u32 top){ G.hp=top; if(top>G.end)grow(top); depth=0; }
EX(rt_chars) u32 rt_chars(){return (u32)chars;}
EX(rt_nursery) u32 rt_nursery(){return NURSERY;}
