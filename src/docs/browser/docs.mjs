// Signing in and out, and copying samples.
const { root } = document.documentElement.dataset;
const account = document.querySelector('.account');
const summary = account.querySelector('summary');
const signIn = account.querySelector('[data-sign-in]');
const signOut = account.querySelector('[data-sign-out]');
const fault = signIn.querySelector('.fault');

// Scripts cannot see the session cookie. Whether it is worth asking is kept here, so that strangers are not refused at every page.
const remembered = 'sitekeeper signed in';

function show(email) {
  summary.textContent = email ? 'Signed in' : 'Sign in';
  account.querySelector('[data-email]').textContent = email ?? '';
  signIn.hidden = Boolean(email);
  signOut.hidden = !email;
  if (email) localStorage.setItem(remembered, 'yes');
  else localStorage.removeItem(remembered);
}

async function session(method, body) {
  const response = await fetch(`${root}api/session`, {
    method,
    ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return { ok: response.ok, status: response.status, answer: await response.json() };
}

signIn.addEventListener('submit', async (event) => {
  event.preventDefault();
  fault.hidden = true;
  try {
    const { ok, answer } = await session('POST', Object.fromEntries(new FormData(signIn)));
    if (!ok) throw new Error(answer.detail);
    signIn.reset();
    show(answer.data.user.email);
    account.open = false;
  } catch (error) {
    fault.textContent = error.message;
    fault.hidden = false;
  }
});

signOut.addEventListener('submit', async (event) => {
  event.preventDefault();
  await session('DELETE');
  show();
  account.open = false;
});

if (localStorage.getItem(remembered)) {
  const { ok, status, answer } = await session('GET');
  if (ok) show(answer.data.user.email);
  else if (status === 401) show();
}

// Only a page over https or on this very machine may write to the clipboard.
for (const sample of navigator.clipboard ? document.querySelectorAll('pre') : []) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' });
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(sample.textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  sample.parentElement.append(button);
}
